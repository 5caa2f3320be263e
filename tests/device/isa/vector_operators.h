#pragma once
// The arithmetic operators of the Vector engine in float64, without device code.

#include <cmath>
#include <vector>

#include "device/numerics/operators.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {

/// The operators on two operands that every arithmetic instruction of the Vector engine has.
inline const std::vector<AluOp>& arithmetic_operators() {
  static const std::vector<AluOp> operators = {
      AluOp::kAdd,       AluOp::kSubtract,   AluOp::kMultiply, AluOp::kMaximum,
      AluOp::kMinimum,   AluOp::kEqual,      AluOp::kNotEqual, AluOp::kGreaterEqual,
      AluOp::kGreater,   AluOp::kLessEqual,  AluOp::kLess,     AluOp::kLogicalAnd,
      AluOp::kLogicalOr, AluOp::kLogicalXor, AluOp::kAbsMax,   AluOp::kAbsMin,
      AluOp::kDivide};
  return operators;
}

/// a op b (finite operands), rounded to fp32.
inline double oracle_apply(AluOp op, double a, double b) {
  const bool p = a != 0, q = b != 0;
  switch (op) {
    case AluOp::kAdd: return round_to(kFp32, a + b);
    case AluOp::kSubtract: return round_to(kFp32, a - b);
    case AluOp::kMultiply: return round_to(kFp32, a * b);
    case AluOp::kDivide: return round_to(kFp32, a / b);
    case AluOp::kMaximum: return std::max(a, b);
    case AluOp::kMinimum: return std::min(a, b);
    case AluOp::kEqual: return a == b ? 1 : 0;
    case AluOp::kNotEqual: return a == b ? 0 : 1;
    case AluOp::kGreaterEqual: return a >= b ? 1 : 0;
    case AluOp::kGreater: return a > b ? 1 : 0;
    case AluOp::kLessEqual: return a <= b ? 1 : 0;
    case AluOp::kLess: return a < b ? 1 : 0;
    case AluOp::kLogicalAnd: return p && q ? 1 : 0;
    case AluOp::kLogicalOr: return p || q ? 1 : 0;
    case AluOp::kLogicalXor: return p != q ? 1 : 0;
    case AluOp::kAbsMax: return std::max(std::abs(a), std::abs(b));
    case AluOp::kAbsMin: return std::min(std::abs(a), std::abs(b));
    case AluOp::kAbs: return std::abs(a);
    case AluOp::kSquare: return round_to(kFp32, a * a);
    default: ADD_FAILURE() << "no oracle for " << name(op); return NAN;
  }
}

/// oracle_apply() with the operands exchanged when `reverse`.
inline double oracle_apply(AluOp op, double a, double b, bool reverse) {
  return reverse ? oracle_apply(op, b, a) : oracle_apply(op, a, b);
}

/// Values on a grid of 1/4, so that sums of a few thousand are exact in fp32 in any order.
inline std::vector<double> grid_values(int64_t count, unsigned seed) {
  std::vector<double> values = random_values(count, -4, 4, seed);
  for (double& value : values) value = std::nearbyint(value * 4) / 4 + 0.0;
  return values;
}

}  // namespace neuron_sim
