#pragma once
// The operators as functors of two operands, so that an instruction picks one outside its element
// loop; unary operators ignore the second.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/base/errors.h"
#include "device/numerics/operators.h"

namespace neuron_sim::alu {

struct Maximum {  // a NaN on either side wins; of +0 and -0 the second operand
  float operator()(float a, float b) const {
    const float larger = a > b ? a : b;
    return a != a ? a : larger;
  }
  int64_t operator()(int64_t a, int64_t b) const { return std::max(a, b); }
};
struct Minimum {
  float operator()(float a, float b) const {
    const float smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
  int64_t operator()(int64_t a, int64_t b) const { return std::min(a, b); }
};
struct AbsMax {
  float operator()(float a, float b) const { return Maximum()(std::fabs(a), std::fabs(b)); }
  int64_t operator()(int64_t a, int64_t b) const { return std::max(std::abs(a), std::abs(b)); }
};
struct AbsMin {
  float operator()(float a, float b) const { return Minimum()(std::fabs(a), std::fabs(b)); }
  int64_t operator()(int64_t a, int64_t b) const { return std::min(std::abs(a), std::abs(b)); }
};

/// Modulo 2^64, so that uint32 products never overflow.
inline int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// 32-bit logical shifts; an amount outside [0, 31] shifts every bit out.
inline int64_t shift_left(int64_t a, int64_t amount) {
  return amount < 0 || amount > 31 ? 0 : static_cast<uint32_t>(static_cast<uint32_t>(a) << amount);
}
inline int64_t shift_right(int64_t a, int64_t amount) {
  return amount < 0 || amount > 31 ? 0 : static_cast<uint32_t>(a) >> amount;
}

struct Relu {  // NaN stays NaN, -0 stays -0
  float operator()(float a, float) const { return a < 0 ? 0.0F : a; }
  int64_t operator()(int64_t a, int64_t) const { return std::max<int64_t>(a, 0); }
};

/// In double precision, where the roundings before the last one do not show.
inline float reciprocal_root(float a) { return static_cast<float>(1.0 / std::sqrt(double{a})); }

/// Comparisons and logical operators, which give 1 or 0 of the operands' type. Returns false when
/// `op` is not one of them.
template <typename Value, typename Body>
bool with_predicate(AluOp op, Body& body) {
  const Value one = 1, zero = 0;
  switch (op) {
    case AluOp::kEqual: body([=](Value a, Value b) { return a == b ? one : zero; }); return true;
    case AluOp::kNotEqual: body([=](Value a, Value b) { return a != b ? one : zero; }); return true;
    case AluOp::kGreaterEqual:
      body([=](Value a, Value b) { return a >= b ? one : zero; });
      return true;
    case AluOp::kGreater: body([=](Value a, Value b) { return a > b ? one : zero; }); return true;
    case AluOp::kLessEqual:
      body([=](Value a, Value b) { return a <= b ? one : zero; });
      return true;
    case AluOp::kLess: body([=](Value a, Value b) { return a < b ? one : zero; }); return true;
    case AluOp::kLogicalAnd:
      body([=](Value a, Value b) { return ((a != zero) & (b != zero)) ? one : zero; });
      return true;
    case AluOp::kLogicalOr:
      body([=](Value a, Value b) { return ((a != zero) | (b != zero)) ? one : zero; });
      return true;
    case AluOp::kLogicalXor:
      body([=](Value a, Value b) { return ((a != zero) ^ (b != zero)) ? one : zero; });
      return true;
    case AluOp::kLogicalNot:
      body([=](Value a, Value) { return a == zero ? one : zero; });
      return true;
    default: return false;
  }
}

/// Calls body(functor on two floats) for an operator that has an fp32 form.
template <typename Body>
void with_float_operator(AluOp op, Body body) {
  if (with_predicate<float>(op, body)) return;
  switch (op) {
    case AluOp::kAdd: return body([](float a, float b) { return a + b; });
    case AluOp::kSubtract: return body([](float a, float b) { return a - b; });
    case AluOp::kMultiply: return body([](float a, float b) { return a * b; });
    case AluOp::kDivide: return body([](float a, float b) { return a / b; });
    case AluOp::kMaximum: return body(Maximum());
    case AluOp::kMinimum: return body(Minimum());
    case AluOp::kPower: return body([](float a, float b) { return std::pow(a, b); });
    case AluOp::kAbsMax: return body(AbsMax());
    case AluOp::kAbsMin: return body(AbsMin());
    case AluOp::kAbs: return body([](float a, float) { return std::fabs(a); });
    case AluOp::kSquare: return body([](float a, float) { return a * a; });
    case AluOp::kRelu: return body(Relu());
    case AluOp::kRsqrt: return body([](float a, float) { return reciprocal_root(a); });
    case AluOp::kReciprocal: return body([](float a, float) { return 1.0F / a; });
    default: require(false, "the operator has no fp32 form");
  }
}

/// Calls body(functor on two int64_t) for an operator that is exact on integers.
template <typename Body>
void with_integer_operator(AluOp op, Body body) {
  if (with_predicate<int64_t>(op, body)) return;
  switch (op) {
    case AluOp::kAdd: return body([](int64_t a, int64_t b) { return a + b; });
    case AluOp::kSubtract: return body([](int64_t a, int64_t b) { return a - b; });
    case AluOp::kMultiply: return body(wrapping_multiply);
    case AluOp::kMaximum: return body(Maximum());
    case AluOp::kMinimum: return body(Minimum());
    case AluOp::kBitwiseAnd: return body([](int64_t a, int64_t b) { return a & b; });
    case AluOp::kBitwiseOr: return body([](int64_t a, int64_t b) { return a | b; });
    case AluOp::kBitwiseXor: return body([](int64_t a, int64_t b) { return a ^ b; });
    case AluOp::kLeftShift: return body(shift_left);
    case AluOp::kRightShift: return body(shift_right);
    case AluOp::kAbsMax: return body(AbsMax());
    case AluOp::kAbsMin: return body(AbsMin());
    case AluOp::kInvert: return body([](int64_t a, int64_t) { return ~a; });
    case AluOp::kAbs: return body([](int64_t a, int64_t) { return std::abs(a); });
    case AluOp::kSquare: return body([](int64_t a, int64_t) { return wrapping_multiply(a, a); });
    case AluOp::kRelu: return body(Relu());
    default: require(false, "the operator is not exact on integers");
  }
}

/// An operator that is exact on integers, on the int32 in the bits of floats; an int64_t operand is
/// one as it stands. Bitwise operators and those whose result wraps depend on no more bits.
template <typename Function>
auto on_words(Function function) {
  const auto integer = [](auto value) {
    if constexpr (std::is_same_v<decltype(value), float>) {
      return int64_t{std::bit_cast<int32_t>(value)};
    } else {
      return value;
    }
  };
  return [=](auto a, auto b) {
    return std::bit_cast<float>(static_cast<uint32_t>(function(integer(a), integer(b))));
  };
}

}  // namespace neuron_sim::alu
