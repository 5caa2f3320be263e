#include "device/numerics/operators.h"

#include <array>

#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

constexpr std::array<std::string_view, 31> kAluNames = {
    "none",        "add",         "subtract",    "multiply",      "divide",      "maximum",
    "minimum",     "equal",       "not_equal",   "greater_equal", "greater",     "less_equal",
    "less",        "logical_and", "logical_or",  "logical_xor",   "bitwise_and", "bitwise_or",
    "bitwise_xor", "left_shift",  "right_shift", "power",         "abs_max",     "abs_min",
    "invert",      "logical_not", "abs",         "square",        "relu",        "rsqrt",
    "reciprocal"};

}  // namespace

std::string_view name(AluOp op) { return kAluNames[static_cast<size_t>(op)]; }

std::optional<AluOp> parse_alu_op(std::string_view name) {
  if (name == "max") return AluOp::kMaximum;  // numpy spellings of the reduction operators
  if (name == "min") return AluOp::kMinimum;
  for (size_t i = 0; i < kAluNames.size(); ++i) {
    if (kAluNames[i] == name) return static_cast<AluOp>(i);
  }
  return std::nullopt;
}

bool is_bitwise(AluOp op) {
  return (op >= AluOp::kBitwiseAnd && op <= AluOp::kRightShift) || op == AluOp::kInvert;
}

bool is_unary(AluOp op) { return op >= AluOp::kInvert; }

bool is_reduction(AluOp op) {
  switch (op) {
    case AluOp::kAdd:
    case AluOp::kSubtract:
    case AluOp::kMultiply:
    case AluOp::kMaximum:
    case AluOp::kMinimum:
    case AluOp::kLogicalAnd:
    case AluOp::kLogicalOr:
    case AluOp::kLogicalXor:
    case AluOp::kBitwiseAnd:
    case AluOp::kBitwiseOr:
    case AluOp::kBitwiseXor: return true;
    default: return false;
  }
}

bool is_exact_on_integers(AluOp op) {
  return op != AluOp::kNone && op != AluOp::kDivide && op != AluOp::kPower && op != AluOp::kRsqrt &&
         op != AluOp::kReciprocal;
}

bool is_vector_operator(AluOp op) {
  return op != AluOp::kNone && op != AluOp::kPower && op != AluOp::kRsqrt;
}

bool is_gpsimd_operator(AluOp op) {
  return op == AluOp::kAdd || op == AluOp::kSubtract || op == AluOp::kMultiply ||
         op == AluOp::kPower || op == AluOp::kRsqrt;
}

float apply(AluOp op, float a, float b) {
  float result = 0;
  alu::with_float_operator(op, [&](auto function) { result = function(a, b); });
  return result;
}

int64_t apply(AluOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  alu::with_integer_operator(op, [&](auto function) { result = function(a, b); });
  return result;
}

}  // namespace neuron_sim
