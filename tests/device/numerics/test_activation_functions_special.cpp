#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "device/numerics/activation_functions.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

using Real = long double;  // 64 bits of mantissa: the oracle of terms that cancel
using Exact = std::function<Real(Real)>;
constexpr Real kPi = 3.14159265358979323846264338328L;
constexpr float kInf = std::numeric_limits<float>::infinity();

float value_of(Activation function, float x, float slope = 0) {
  float result = 0;
  apply(function, &x, &result, 1, slope);
  return result;
}

/// Distance of `actual` from `exact`, in units in the last place of fp32.
double error_in_ulps(float actual, Real exact) {
  if (std::isinf(static_cast<float>(exact))) return actual == static_cast<float>(exact) ? 0 : 1e9;
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return static_cast<double>(std::abs(Real{actual} - exact) / std::ldexp(Real{1}, exponent - 23));
}

bool everywhere(float) { return true; }

/// Every 4999th bit pattern of fp32 (860,000 values, denormals and infinities near), not NaN.
void expect_accuracy(Activation function, double ulps, const Exact& exact,
                     const std::function<bool(float)>& in_domain = everywhere) {
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4999) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(x) || !in_domain(x)) continue;
    const double error = error_in_ulps(value_of(function, x), exact(x));
    if (!(error <= worst)) {
      worst = error;
      worst_at = x;
    }
  }
  EXPECT_LE(worst, ulps) << name(function) << " at " << worst_at;
  ::testing::Test::RecordProperty(std::string(name(function)), std::to_string(worst));
}

/// The 2001 floats around the root of an increasing derivative.
void expect_accuracy_at_root(Activation function, double ulps, const Exact& exact, Real low,
                             Real high) {
  for (int i = 0; i < 200; ++i) {
    const Real middle = (low + high) / 2;
    (exact(middle) > 0 ? high : low) = middle;
  }
  const auto root = std::bit_cast<uint32_t>(static_cast<float>(low));
  for (uint32_t bits = root - 1000; bits <= root + 1000; ++bits) {
    const float x = std::bit_cast<float>(bits);
    ASSERT_LE(error_in_ulps(value_of(function, x), exact(x)), ulps)
        << name(function) << " at " << x;
  }
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real gelu_dx(Real x) {
  return std::erfc(-x / std::sqrt(Real{2})) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
}
/// The derivative of x sigmoid(a x).
Exact gated_dx(Real a) {
  return [a](Real x) {
    const Real s = sigmoid(a * x), t = sigmoid(-a * x);
    return s + a * x * s * t;
  };
}

TEST(SpecialFunctions, GeluAndItsApproximationsAreWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kGeluApproximateTanh, 0.51, [](Real x) {
    const Real u = std::sqrt(2 / kPi) * (x + 0.044715L * x * x * x);
    return x / (1 + std::exp(-2 * u));
  });
  expect_accuracy(Activation::kGeluApproximateSigmoid, 0.51,
                  [](Real x) { return x * sigmoid(1.702L * x); });
  expect_accuracy(Activation::kSilu, 0.51, [](Real x) { return x * sigmoid(x); });
  expect_accuracy(Activation::kSoftplus, 0.51,
                  [](Real x) { return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x))); });
  expect_accuracy(Activation::kMish, 0.51, [](Real x) {
    const Real log = std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x)));
    return x * std::tanh(log);
  });
}

TEST(SpecialFunctions, ErrorFunctionsAreWithinOneUnitInTheLastPlace) {
  expect_accuracy(Activation::kErf, 0.51, [](Real x) { return std::erf(x); });
  expect_accuracy(Activation::kErfDx, 0.51,
                  [](Real x) { return 2 / std::sqrt(kPi) * std::exp(-x * x); });
}

TEST(SpecialFunctions, DerivativesAreWithinOneUnitInTheLastPlaceAtTheirRootsToo) {
  expect_accuracy(Activation::kGeluDx, 0.51, gelu_dx);
  expect_accuracy(Activation::kSiluDx, 0.51, gated_dx(1));
  expect_accuracy(Activation::kGeluApproximateSigmoidDx, 0.51, gated_dx(1.702L));
  expect_accuracy_at_root(Activation::kGeluDx, 1, gelu_dx, -1, -0.5);
  expect_accuracy_at_root(Activation::kSiluDx, 1, gated_dx(1), -2, -1);
  expect_accuracy_at_root(Activation::kGeluApproximateSigmoidDx, 1, gated_dx(1.702L), -1, -0.5);
}

TEST(SpecialFunctions, LimitedFunctionsAreAccurateInTheChipSRangeAndBeyond) {
  expect_accuracy(
      Activation::kLog, 0.51, [](Real x) { return std::log(x); }, [](float x) { return x > 0; });
  expect_accuracy(Activation::kArctan, 0.51, [](Real x) { return std::atan(x); });
  expect_accuracy(
      Activation::kReciprocal, 0.5, [](Real x) { return 1 / x; }, [](float x) { return x != 0; });
  expect_accuracy(
      Activation::kSin, 0.51, [](Real x) { return std::sin(x); },
      [](float x) { return std::abs(x) <= 3.1415925F; });
}

TEST(SpecialFunctions, SinGoesOnAlongACubicBeyondPi) {
  expect_accuracy(
      Activation::kSin, 0.51,
      [](Real x) {
        const Real beyond = std::abs(x) - kPi;
        return (x < 0 ? -1 : 1) * (beyond * beyond * beyond / 6 - beyond);
      },
      [](float x) { return std::abs(x) > 3.5F; });
  EXPECT_NEAR(value_of(Activation::kSin, 9.0F), 27.65, 0.005) << "the vendor's value";
  EXPECT_NEAR(value_of(Activation::kSin, -9.0F), -27.65, 0.005);
  EXPECT_EQ(value_of(Activation::kSin, 3.14159274F), -8.74227766e-8F) << "just beyond pi";
  EXPECT_EQ(value_of(Activation::kSin, kInf), kInf);
  EXPECT_EQ(value_of(Activation::kSin, -kInf), -kInf);
}

TEST(SpecialFunctions, SignsMagnitudesAndSlopesAreExact) {
  for (const float x : {-kInf, -3.5F, -0x1p-149F, 0x1p-149F, 2.0F, kInf}) {
    EXPECT_EQ(value_of(Activation::kSign, x), x < 0 ? -1.0F : 1.0F);
    EXPECT_EQ(value_of(Activation::kAbs, x), x < 0 ? -x : x);
    EXPECT_EQ(value_of(Activation::kPrelu, x, 0.25F), x < 0 ? x * 0.25F : x);
  }
  for (const float zero : {0.0F, -0.0F}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(value_of(Activation::kSign, zero)), 0U);
    EXPECT_EQ(std::bit_cast<uint32_t>(value_of(Activation::kAbs, zero)), 0U);
  }
  EXPECT_EQ(value_of(Activation::kPrelu, -2.0F), 0.0F) << "slope 0 unless given";
}

struct Ends {
  Activation function;
  float at_minus_infinity;  // with the sign of zero
  float at_infinity;
};

TEST(SpecialFunctions, InfinitiesGiveTheLimits) {
  for (const Ends& limits : {Ends{Activation::kGelu, -0.0F, kInf},
                             {Activation::kGeluDx, -0.0F, 1},
                             {Activation::kGeluApproximateTanh, -0.0F, kInf},
                             {Activation::kGeluApproximateSigmoid, -0.0F, kInf},
                             {Activation::kGeluApproximateSigmoidDx, -0.0F, 1},
                             {Activation::kSilu, -0.0F, kInf},
                             {Activation::kSiluDx, -0.0F, 1},
                             {Activation::kSoftplus, 0, kInf},
                             {Activation::kMish, -0.0F, kInf},
                             {Activation::kErf, -1, 1},
                             {Activation::kErfDx, 0, 0},
                             {Activation::kArctan, -1.57079637F, 1.57079637F},
                             {Activation::kReciprocal, -0.0F, 0}}) {
    SCOPED_TRACE(name(limits.function));
    expect_values({value_of(limits.function, -kInf), value_of(limits.function, kInf)},
                  {limits.at_minus_infinity, limits.at_infinity});
    const float lowest = std::numeric_limits<float>::lowest();
    if (limits.function == Activation::kReciprocal) continue;
    EXPECT_EQ(value_of(limits.function, lowest), limits.at_minus_infinity);
  }
  EXPECT_EQ(value_of(Activation::kLog, 0.0F), -kInf);
  EXPECT_EQ(value_of(Activation::kLog, kInf), kInf);
  EXPECT_TRUE(std::isnan(value_of(Activation::kLog, -1.0F)));
  EXPECT_EQ(value_of(Activation::kReciprocal, -0.0F), -kInf);
}

}  // namespace
}  // namespace neuron_sim
