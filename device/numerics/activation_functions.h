#pragma once
// The activation functions of the Scalar engine.

#include <cstdint>
#include <optional>
#include <string_view>

namespace neuron_sim {

/// Functions of fp32 (docs/hardware_facts.md#activation-functions). Each is computed in double
/// precision and rounded once; the chip has piecewise polynomials whose errors are not published.
/// The number is the largest error in units in the last place, over all finite inputs; "exact" is
/// the rounded real value. Some have a limited range on the chip; outside it the chip's results are
/// undefined; here they are the function's own values (sin excepted).
enum class Activation : uint8_t {
  kIdentity,                  ///< x; exact; "copy"
  kRelu,                      ///< 0 where x < 0, else x (-0 and NaN too); exact
  kExp,                       ///< e^x; 0.51
  kGelu,                      ///< x Phi(x) with the normal distribution Phi; 0.51
  kSigmoid,                   ///< 1 / (1 + e^-x); 0.51
  kTanh,                      ///< 0.51
  kSquare,                    ///< x x; exact
  kSqrt,                      ///< exact; the chip: 2^-116 to 2^118; NaN below 0
  kRsqrt,                     ///< 1 / sqrt(x); 0.51; the chip: 2^-87 to 2^97; NaN below 0
  kGeluDx,                    ///< Phi(x) + x phi(x), the derivative of gelu; 0.51 (1 near its root)
  kGeluApproximateTanh,       ///< x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3); 0.51
  kGeluApproximateSigmoid,    ///< x / (1 + e^-1.702x); 0.51
  kGeluApproximateSigmoidDx,  ///< the derivative of that; 0.51 (1 near its root)
  kSilu,                      ///< x / (1 + e^-x); 0.51
  kSiluDx,                    ///< the derivative of silu; 0.51 (1 near its root)
  kSoftplus,                  ///< log(1 + e^x); 0.51
  kMish,                      ///< x tanh(log(1 + e^x)); 0.51
  kErf,                       ///< 0.51
  kErfDx,                     ///< 2 / sqrt(pi) e^-xx, the derivative of erf; 0.51
  kSign,                      ///< -1, 0 or 1; exact; +0 for -0
  kAbs,                       ///< exact
  kPrelu,                     ///< x where x > 0, else slope x, rounded once; exact
  kLog,                       ///< 0.51; the chip: 2^-64 to 2^64; -inf at 0, NaN below
  kSin,                       ///< 0.51 within the chip's range of -pi to pi; see below
  kArctan,                    ///< 0.51; the chip: -pi/2 to pi/2
  kReciprocal,                ///< 1 / x; exact; the chip: 2^-42 to 2^42 and the same below 0
};
inline constexpr int kActivationCount = 26;

/// The vendor's name: "copy", "relu", "gelu_apprx_tanh", ...
std::string_view name(Activation function);
/// The function of that name; also accepts "identity" and "absolute".
std::optional<Activation> parse_activation(std::string_view name);

/// `count` fp32 values; source and target may be the same. `slope` is for prelu only.
/// NaN gives NaN everywhere. Infinities give the limits of the function (a limit of zero from below
/// is -0); sin of them is infinite. Denormals are kept.
/// sin beyond pi continues along the cubic (x - pi)^3 / 6 - (x - pi), and below -pi along its
/// mirror image: the chip reduces no range, and its sin(9) is about 27.65, which that cubic gives
/// (docs/hardware_facts.md#activation-functions). The form of the cubic is derived from that one
/// value.
void apply(Activation function, const float* source, float* target, int64_t count, float slope = 0);

/// Functions of one table need no reload between them. -1: in every table (copy, relu, square,
/// sign, abs, prelu). exp and log share one, "natural_log_exp_and_others", in the list of tables of
/// the vendor's work-with-neff-files.rst. Assumed: every other function has its own table.
int table_of(Activation function);

}  // namespace neuron_sim
