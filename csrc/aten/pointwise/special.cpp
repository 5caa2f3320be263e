// Gamma and error functions, composed of engine functions.

#include <initializer_list>
#include <limits>
#include <numbers>

#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;
using std::numbers::pi;

/// Coefficients from the highest power to the constant one.
Value polynomial(Value x, std::initializer_list<double> coefficients) {
  Value sum = x.expression().constant(*coefficients.begin());
  for (const double* next = coefficients.begin() + 1; next != coefficients.end(); ++next) {
    sum = sum * x + *next;
  }
  return sum;
}

/// For x >= 1/2, by Lanczos' series with six terms: off by 2e-6 where it is small.
Value log_gamma_above(Value x) {
  const Value shifted = x + 4.5;
  Value series = x.expression().constant(1.000000000190015);
  double place = 0;
  for (const double term : {76.18009172947146, -86.50532032941677, 24.01409824083091,
                            -1.231739572450155, 1.208650973866179e-3, -5.395239384953e-6}) {
    series = series + term / (x + place);
    place += 1;
  }
  constexpr double kRoot = 2.5066282746310005;  // sqrt(2 pi)
  return (x - 0.5) * call(Activation::kLog, shifted) - shifted +
         call(Activation::kLog, series * kRoot);
}

/// Below 1/2 by reflection: log(pi / |sin(pi x)|) - log_gamma(1 - x).
Value log_gamma(Value x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Value below = compare(AluOp::kLess, x, 0.5);
  const Value above = log_gamma_above(select(below, 1.0 - x, x));
  const Value part = x - nearest(x);  // sin(pi x) has the magnitude of sin(pi part)
  const Value wave = absolute(sine(part * pi));
  const Value mirrored = call(Activation::kLog, (1.0 / wave) * pi) - above;
  const Value result = select(below, mirrored, above);
  return select(compare(AluOp::kEqual, absolute(x), kInfinity), absolute(x), result);
}

/// The asymptotic series at x + 6, and the steps from there.
Value digamma_above(Value x) {
  const Value far = x + 6.0;
  const Value square = 1.0 / (far * far);
  Value sum = call(Activation::kLog, far) - 0.5 / far -
              square * polynomial(square, {1.0 / 252, -1.0 / 120, 1.0 / 12});
  for (int i = 0; i < 6; ++i) sum = sum - 1.0 / (x + static_cast<double>(i));
  return sum;
}

/// Below 0 by reflection; NaN at negative integers, -inf or inf at the zeros.
Value digamma(Value x) {
  const Value below = compare(AluOp::kLess, x, 0);
  const Value above = digamma_above(select(below, 1.0 - x, x));
  const Value part = x - nearest(x);
  const Value mirrored = above - cosine(part * pi) * pi / sine(part * pi);
  const Value nan = x.expression().constant(std::numeric_limits<double>::quiet_NaN());
  const Value negative = select(compare(AluOp::kEqual, part, 0), nan, mirrored);
  const Value zero = compare(AluOp::kEqual, x, 0);
  return select(zero, -1.0 / x, select(below, negative, above));
}

/// Relative error 1.2e-7, plus the rounding of the exponent.
Value complementary_error(Value x) {
  const Value size = absolute(x);
  const Value t = 1.0 / (size * 0.5 + 1.0);
  const Value exponent =
      polynomial(t, {0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806,
                     0.09678418, 0.37409196, 1.00002368, -1.26551223}) -
      size * size;
  const Value tail = t * call(Activation::kExp, exponent);
  return select(compare(AluOp::kLess, x, 0), 2.0 - tail, tail);
}

/// Giles' approximation in single precision, in two ranges of -log(1 - x^2).
Value inverse_error(Value x) {
  const Value w = -call(Activation::kLog, (1.0 - x) * (x + 1.0));
  const Value middle =
      polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                           0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  const Value tail =
      polynomial(call(Activation::kSqrt, w) - 3.0,
                 {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                  -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  const Value inside = select(compare(AluOp::kLess, w, 5), middle, tail) * x;
  const Value infinite = x * std::numeric_limits<double>::infinity();
  return select(compare(AluOp::kEqual, absolute(x), 1), infinite, inside);
}

template <Value (*function)(Value)>
Value composed(Arguments& a) {
  return function(a.value(0));
}

constexpr auto kFloat = Promotion::kFloat;
constexpr auto kComputed = ResultDtype::kComputed;

constexpr PointwiseRow kRows[] = {
    {"lgamma.out", kFloat, kComputed, composed<log_gamma>},
    {"digamma.out", kFloat, kComputed, composed<digamma>},
    {"erfc.out", kFloat, kComputed, composed<complementary_error>},
    {"erfinv.out", kFloat, kComputed, composed<inverse_error>},
};

}  // namespace

std::span<const PointwiseRow> special_rows() { return kRows; }

}  // namespace neuron_sim
