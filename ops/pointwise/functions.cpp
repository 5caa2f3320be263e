#include "ops/pointwise/functions.h"

#include <limits>
#include <numbers>

namespace neuron_sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// x - 2 pi k with k the integer nearest x / 2 pi. 2 pi is cut into pieces of 8 bits, so that their
/// products with k are exact for |k| < 2^16.
ElementValue reduced(ElementValue x) {
  constexpr double kLargest = 65536 * 2 * std::numbers::pi;
  const ElementValue turns = x.expression().round(x * (0.5 / std::numbers::pi));
  ElementValue rest = x;
  for (const double piece : {201.0 / 32, 253.0 / 131072, 170.0 / 33554432, 3.9683738925e-9}) {
    rest = rest - turns * piece;
  }
  return select(compare(AluOp::kLess, absolute(x), kLargest), rest, x.expression().constant(kNaN));
}

/// The nearest integer, with either sign where it is 0.
ElementValue unsigned_nearest(ElementValue x) {
  constexpr double kWhole = 8388608;  // from 2^23 on every fp32 number is an integer
  return select(compare(AluOp::kLess, absolute(x), kWhole), x.expression().round(x), x);
}

ElementValue unsigned_floor(ElementValue x) {
  const ElementValue whole = unsigned_nearest(x);
  return whole - compare(AluOp::kGreater, whole, x);
}

ElementValue unsigned_ceil(ElementValue x) {
  const ElementValue whole = unsigned_nearest(x);
  return whole + compare(AluOp::kLess, whole, x);
}

}  // namespace

ElementValue absolute(ElementValue x) { return x.expression().alu(AluOp::kAbs, x); }

ElementValue sign_bit(ElementValue x) {
  return x.expression().alu(AluOp::kLogicalOr, compare(AluOp::kLess, x, 0),
                            compare(AluOp::kLess, 1.0 / x, 0));
}

ElementValue copy_sign(ElementValue magnitude, ElementValue sign) {
  return magnitude.expression().copy_sign(magnitude, sign);
}

ElementValue nearest(ElementValue x) { return copy_sign(unsigned_nearest(x), x); }

ElementValue floor(ElementValue x) { return copy_sign(unsigned_floor(x), x); }

ElementValue ceil(ElementValue x) { return copy_sign(unsigned_ceil(x), x); }

ElementValue trunc(ElementValue x) {
  return copy_sign(select(compare(AluOp::kLess, x, 0), unsigned_ceil(x), unsigned_floor(x)), x);
}

ElementValue sine(ElementValue x) { return call(Activation::kSin, reduced(x)); }

/// sin(pi / 2 - |r|), whose argument is between -pi / 2 and pi / 2. pi / 2 in two pieces, so that
/// the zeros of the cosine are in the right place.
ElementValue cosine(ElementValue x) {
  constexpr double kLarge = 1.57079637050628662109375;
  const ElementValue rest = kLarge - absolute(reduced(x));
  return call(Activation::kSin, rest + (std::numbers::pi / 2 - kLarge));
}

/// log(u) x / (u - 1) with u = 1 + x rounded: the error of u cancels.
ElementValue log_one_plus(ElementValue x) {
  const ElementValue u = x + 1.0;
  const ElementValue logarithm = call(Activation::kLog, u);
  const ElementValue exact = compare(AluOp::kEqual, u, 1);
  const ElementValue infinite = compare(AluOp::kEqual, u, kInfinity);
  return select(exact, x, select(infinite, u, logarithm * (x / (u - 1.0))));
}

/// 2 t / (1 - t) with t = tanh(x / 2), where e^x - 1 would cancel.
ElementValue exp_minus_one(ElementValue x) {
  const ElementValue t = call(Activation::kTanh, x * 0.5);
  return select(compare(AluOp::kGreater, x, 0.5), call(Activation::kExp, x) - 1.0,
                (t + t) / (1.0 - t));
}

/// With e^(x / 2) squared, which overflows where the result does.
ElementValue hyperbolic_cosine(ElementValue x) {
  const ElementValue root = call(Activation::kExp, absolute(x) * 0.5);
  return root * 0.5 * root + 0.5 / root / root;
}

ElementValue clamped(ElementValue x, double smallest, double largest) {
  // Of two zeros the engines take the second operand; torch keeps x.
  const ElementValue raised = maximum(x.expression().constant(smallest), x);
  return minimum(x.expression().constant(largest), raised);
}

}  // namespace neuron_sim
