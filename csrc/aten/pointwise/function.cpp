#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;
using std::numbers::ln2;
using std::numbers::pi;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// From here on 1 + x^2 is x^2.
constexpr double kHuge = 1e9;

template <Activation function>
Value engine(Arguments& a) {
  return call(function, a.value(0));
}

template <Value (*function)(Value)>
Value composed(Arguments& a) {
  return function(a.value(0));
}

Value logarithm(Value x) { return call(Activation::kLog, x); }
Value root(Value x) { return call(Activation::kSqrt, x); }
Value arc_tangent(Value x) { return call(Activation::kArctan, x); }
Value tangent(Value x) { return sine(x) / cosine(x); }
Value arc_sine(Value x) { return arc_tangent(x / root((1.0 - x) * (x + 1.0))); }
Value arc_cosine(Value x) { return arc_tangent(root((1.0 - x) / (x + 1.0))) * 2.0; }
Value hyperbolic_sine(Value x) { return call(Activation::kTanh, x) * hyperbolic_cosine(x); }

Value area_sine(Value x) {
  const Value size = absolute(x), square = size * size;
  const Value small = log_one_plus(size + square / (root(square + 1.0) + 1.0));
  const Value large = logarithm(size) + ln2;
  return copy_sign(select(compare(AluOp::kGreater, size, kHuge), large, small), x);
}

Value area_cosine(Value x) {
  const Value above = x - 1.0;
  const Value small = log_one_plus(above + root(above * (above + 2.0)));
  return select(compare(AluOp::kGreater, x, kHuge), logarithm(x) + ln2, small);
}

/// From the magnitude: below 0 the argument of the logarithm would lose digits near -1.
Value area_tangent(Value x) {
  const Value below = compare(AluOp::kLess, x, 0), m = select(below, -x, x);
  const Value result = log_one_plus(m * 2.0 / (1.0 - m)) * 0.5;
  return select(below, -result, result);
}

Value sinus_cardinalis(Value x) {
  const Value angle = x * pi;
  return select(compare(AluOp::kEqual, x, 0), x.expression().constant(1), sine(angle) / angle);
}

/// Coefficients from the highest power to the constant one.
Value polynomial(Value x, std::initializer_list<double> coefficients) {
  Value sum = x.expression().constant(*coefficients.begin());
  for (const double* next = coefficients.begin() + 1; next != coefficients.end(); ++next) {
    sum = sum * x + *next;
  }
  return sum;
}

/// log Gamma and its derivative around 2, as series in t = x - 2 (DLMF 5.7.3): the coefficients of
/// t^1, t^2, ... of the first, the last of which are below 2^-26 for |t| <= 1.
constexpr size_t kGammaTerms = 23;

std::array<double, kGammaTerms> gamma_coefficients() {
  std::array<double, kGammaTerms> result{1 - std::numbers::egamma};
  constexpr double kSummed = 1000;  // of zeta(k) - 1; the others by their integral
  for (size_t i = 1; i < kGammaTerms; ++i) {
    const double k = static_cast<double>(i) + 1;
    double zeta = std::pow(kSummed + 0.5, 1 - k) / (k - 1);
    for (double n = kSummed; n >= 2; --n) zeta += std::pow(n, -k);
    result[i] = (i % 2 == 1 ? zeta : -zeta) / k;
  }
  return result;
}

/// t f(t), or the derivative of that, f with the coefficients above.
Value gamma_series(Value t, bool derivative) {
  static const std::array<double, kGammaTerms> coefficients = gamma_coefficients();
  const auto coefficient = [&](size_t i) {
    return coefficients[i] * (derivative ? static_cast<double>(i) + 1 : 1);
  };
  Value sum = t * coefficient(kGammaTerms - 1);
  for (size_t i = kGammaTerms - 1; i-- > 1;) sum = (sum + coefficient(i)) * t;
  sum = sum + coefficient(0);
  return derivative ? sum : sum * t;
}

/// A magnitude in the ranges of log Gamma: below 1/2 and 3/2 the series serves one or two steps of
/// its recurrence further, from 3 on Stirling's.
struct GammaRange {
  explicit GammaRange(Value a)
      : low(compare(AluOp::kLess, a, 0.5)),
        middle(compare(AluOp::kLess, a, 1.5)),
        near(compare(AluOp::kLess, a, 3)),
        t(select(low, a, select(middle, a - 1.0, a - 2.0))),
        rest(a - nearest(a)) {}
  Value low, middle, near;
  Value t;     ///< what the series takes
  Value rest;  ///< from the nearest integer
};

Value log_gamma(Value x) {
  const Value a = absolute(x);
  const GammaRange range(a);
  const Value one = x.expression().constant(1);
  const Value factor = select(range.low, a * (a + 1.0), select(range.middle, a, one));
  const Value log = logarithm(select(range.near, factor, a));
  const Value w = 1.0 / a;
  const Value tail =
      polynomial(w * w, {1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}) * w;
  const double constant = 0.5 * std::log(2 * pi) - 0.5;
  const Value stirling = (a - 0.5) * (log - 1.0) + constant + tail;
  const Value positive = select(range.near, gamma_series(range.t, false) - log, stirling);
  // Gamma(-a) Gamma(a) = -pi / (a sin(pi a)); near 0 the two have the same magnitude.
  const Value sine = absolute(call(Activation::kSin, range.rest * pi));
  const Value reflected = logarithm(pi / (a * sine)) - positive;
  const Value is_reflected =
      compare(AluOp::kLess, x, 0) * compare(AluOp::kGreater, a, 9.094947017729282e-13);  // 2^-40
  const Value infinite = compare(AluOp::kEqual, positive, kInfinity);
  return select(infinite, positive, select(is_reflected, reflected, positive));
}

/// The derivative of log Gamma.
Value digamma(Value x) {
  const Value a = absolute(x), w = 1.0 / a;
  const GammaRange range(a);
  const Value series = gamma_series(range.t, true);
  const Value tail = polynomial(
      w * w, {-1.0 / 12, 691.0 / 32760, -1.0 / 132, 1.0 / 240, -1.0 / 252, 1.0 / 120, -1.0 / 12});
  const Value far = logarithm(a) + w * 0.5 + tail * (w * w);
  // This is the value at a + 1, so that 1 / a is subtracted once.
  const Value following = select(range.low, series - 1.0 / (a + 1.0),
                                 select(range.middle, series, select(range.near, series + w, far)));
  const Value cosine = call(Activation::kSin, (0.5 - absolute(range.rest)) * pi);
  const Value cotangent = cosine / call(Activation::kSin, range.rest * pi);
  const Value nan = x.expression().constant(kNaN);
  const Value reflected =
      select(compare(AluOp::kEqual, range.rest, 0), nan, following + cotangent * pi);
  const Value result = select(compare(AluOp::kLess, x, 0), reflected, following - w);
  return select(compare(AluOp::kEqual, x, 0), -(1.0 / x), result);
}

/// Giles' approximation in single precision, in two ranges of -log(1 - x^2).
Value inverse_error(Value x) {
  const Value w = -logarithm((1.0 - x) * (x + 1.0));
  const Value middle =
      polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                           0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  const Value tail = polynomial(root(w) - 3.0, {-0.000200214257, 0.000100950558, 0.00134934322,
                                                -0.00367342844, 0.00573950773, -0.0076224613,
                                                0.00943887047, 1.00167406, 2.83297682});
  const Value inside = select(compare(AluOp::kLess, w, 5), middle, tail) * x;
  const Value infinite = x * kInfinity;
  return select(compare(AluOp::kEqual, absolute(x), 1), infinite, inside);
}

Value arc_tangent_of_two(Arguments& a) {
  const Value y = a.value(0), x = a.value(1);
  const Value up = absolute(y), right = absolute(x);
  // 0 / 0 and inf / inf: the limits that torch takes.
  const Value diagonal = a.expression().alu(AluOp::kLogicalAnd, compare(AluOp::kEqual, up, right),
                                            compare(AluOp::kEqual, right, kInfinity));
  const Value flat = compare(AluOp::kEqual, up, 0);
  const Value angle =
      select(flat, a.constant(0), select(diagonal, a.constant(pi / 4), arc_tangent(up / right)));
  const Value turned = select(sign_bit(x), pi - angle, angle);
  const Value result = copy_sign(turned, y);
  return select(compare(AluOp::kEqual, y + x, y + x), result,
                select(compare(AluOp::kEqual, up + right, up + right), result, y + x));
}

Value hypotenuse(Arguments& a) {
  const Value x = absolute(a.value(0)), y = absolute(a.value(1));
  const Value large = maximum(x, y), ratio = minimum(x, y) / large;
  const Value length = large * root(ratio * ratio + 1.0);
  const Value plain = a.expression().alu(AluOp::kLogicalOr, compare(AluOp::kEqual, large, 0),
                                         compare(AluOp::kEqual, large, kInfinity));
  return select(plain, large, length);
}

Value x_log_y(Arguments& a) {
  const Value x = a.value(0), y = a.value(1);
  const Value product = select(compare(AluOp::kEqual, x, 0), a.constant(0), x * logarithm(y));
  return select(compare(AluOp::kNotEqual, y, y), a.constant(kNaN), product);
}

/// The distance between two numbers; 0 for equal infinities.
Value distance(Value a, Value b) {
  return select(compare(AluOp::kEqual, a, b), a.expression().constant(0), absolute(a - b));
}

Value log_of_sum(Arguments& a) {
  const Value x = a.value(0), y = a.value(1);
  return maximum(x, y) + log_one_plus(call(Activation::kExp, -distance(x, y)));
}

Value two_to(Arguments& a) { return a.expression().alu(AluOp::kPower, a.constant(2), a.value(0)); }

constexpr PointwiseRow kFunctionRows[] = {
    {"exp.out", kFloat, kComputed, engine<Activation::kExp>},
    {"exp2.out", kFloat, kComputed, two_to},
    {"expm1.out", kFloat, kComputed, composed<exp_minus_one>},
    {"log.out", kFloat, kComputed, engine<Activation::kLog>},
    {"log2.out", kFloat, kComputed, [](Arguments& a) { return logarithm(a.value(0)) * (1 / ln2); }},
    {"log10.out", kFloat, kComputed,
     [](Arguments& a) { return logarithm(a.value(0)) * (1 / std::numbers::ln10); }},
    {"log1p.out", kFloat, kComputed, composed<log_one_plus>},
    {"sqrt.out", kFloat, kComputed, engine<Activation::kSqrt>},
    {"rsqrt.out", kFloat, kComputed, engine<Activation::kRsqrt>},
    {"sin.out", kFloat, kComputed, composed<sine>},
    {"cos.out", kFloat, kComputed, composed<cosine>},
    {"tan.out", kFloat, kComputed, composed<tangent>},
    {"asin.out", kFloat, kComputed, composed<arc_sine>},
    {"acos.out", kFloat, kComputed, composed<arc_cosine>},
    {"atan.out", kFloat, kComputed, engine<Activation::kArctan>},
    {"sinh.out", kFloat, kComputed, composed<hyperbolic_sine>},
    {"cosh.out", kFloat, kComputed, composed<hyperbolic_cosine>},
    {"tanh.out", kFloat, kComputed, engine<Activation::kTanh>},
    {"asinh.out", kFloat, kComputed, composed<area_sine>},
    {"acosh.out", kFloat, kComputed, composed<area_cosine>},
    {"atanh.out", kFloat, kComputed, composed<area_tangent>},
    {"sigmoid.out", kFloat, kComputed, engine<Activation::kSigmoid>},
    {"erf.out", kFloat, kComputed, engine<Activation::kErf>},
    {"erfinv.out", kFloat, kComputed, composed<inverse_error>},
    {"lgamma.out", kFloat, kComputed, composed<log_gamma>},
    {"digamma.out", kFloat, kComputed, composed<digamma>},
    {"sinc.out", kFloat, kComputed, composed<sinus_cardinalis>},
    {"atan2.out", kFloat, kComputed, arc_tangent_of_two},
    {"hypot.out", kCommon, kComputed, hypotenuse, 0, Accepts::kFloats},
    {"xlogy.OutTensor", kFloat, kComputed, x_log_y},
    {"logaddexp.out", kCommon, kComputed, log_of_sum, 0, Accepts::kFloats},
};

}  // namespace

std::span<const PointwiseRow> function_rows() { return kFunctionRows; }

}  // namespace neuron_sim
