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
    {"sinc.out", kFloat, kComputed, composed<sinus_cardinalis>},
    {"atan2.out", kFloat, kComputed, arc_tangent_of_two},
    {"hypot.out", kCommon, kComputed, hypotenuse, 0, Accepts::kFloats},
    {"xlogy.OutTensor", kFloat, kComputed, x_log_y},
    {"logaddexp.out", kCommon, kComputed, log_of_sum, 0, Accepts::kFloats},
};

}  // namespace

std::span<const PointwiseRow> function_rows() { return kFunctionRows; }

}  // namespace neuron_sim
