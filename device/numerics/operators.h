#pragma once
// ALU operators of the Vector, GpSimd and Scalar engines; with the activation functions of the
// Scalar engine.

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/numerics/activation_functions.h"

namespace neuron_sim {

/// Operators of the elementwise instructions and of reductions (docs/hardware_facts.md#operators).
enum class AluOp : uint8_t {
  kNone,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kEqual,
  kNotEqual,
  kGreaterEqual,
  kGreater,
  kLessEqual,
  kLess,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  kLeftShift,
  kRightShift,
  kPower,
  kAbsMax,
  kAbsMin,
  // Operators on one operand; tensor_scalar and its relatives have them.
  kInvert,
  kLogicalNot,
  kAbs,
  kSquare,
  kRelu,
  kRsqrt,
  kReciprocal,
};
std::string_view name(AluOp op);
std::optional<AluOp> parse_alu_op(std::string_view name);
/// Works on bit patterns (the vendor's "bitvec"): bitwise and, or, xor, shifts, invert.
bool is_bitwise(AluOp op);
/// Takes one operand: invert, logical_not, abs, square, relu, rsqrt, reciprocal.
bool is_unary(AluOp op);
/// Usable by tensor_reduce: add, subtract, multiply, maximum, minimum, bitwise, logical.
bool is_reduction(AluOp op);
/// Has an integer form: everything but none, divide, power, rsqrt and reciprocal, which go through
/// fp32.
bool is_exact_on_integers(AluOp op);
/// The Vector engine has it: everything but none, power and rsqrt
/// (docs/hardware_facts.md#operators; square and relu have no engine there; divide is missing there
/// and treated like the others).
bool is_vector_operator(AluOp op);
/// The GpSimd engine has it as an operator of tensor_scalar: add, multiply, power and rsqrt
/// (docs/hardware_facts.md#operators), and subtract as the integer operators of tensor_tensor.
bool is_gpsimd_operator(AluOp op);
/// a op b in fp32; of a alone for unary operators. Everything is rounded correctly except rsqrt and
/// power, which are off by at most 1 unit in the last place. Comparisons and logical operators give
/// 1 or 0 (NaN counts as true, compares unequal). Maximum, minimum, abs_max, abs_min and relu give
/// NaN when an operand is NaN; relu of -0 is 0. rsqrt and reciprocal of +-0 are +-inf, rsqrt of
/// negative values is NaN. SimulatorBug for bitwise operators.
float apply(AluOp op, float a, float b);
/// a op b on integers, exact (the destination wraps); of a alone for unary operators. Shifts are
/// logical on 32 bits, an amount outside [0, 31] gives 0. SimulatorBug unless
/// is_exact_on_integers(op).
int64_t apply(AluOp op, int64_t a, int64_t b);

}  // namespace neuron_sim
