#pragma once
// ALU operators of the Vector, GpSimd and Scalar engines, activation functions of the Scalar
// engine.

#include <cstdint>
#include <optional>
#include <string_view>

namespace neuron_sim {

/// Operators of tensor_tensor, tensor_scalar and tensor_reduce (isa.json `alu_ops`).
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
};
std::string_view name(AluOp op);
std::optional<AluOp> parse_alu_op(std::string_view name);
bool is_bitwise(AluOp op);
/// Usable by tensor_reduce: add, subtract, multiply, maximum, minimum, bitwise, logical.
bool is_reduction(AluOp op);
/// Has an integer form: everything but none, divide and power, which go through fp32.
bool is_exact_on_integers(AluOp op);
/// a op b in fp32. Comparisons and logical operators give 1 or 0 (NaN counts as true, compares
/// unequal). Maximum, minimum, abs_max and abs_min give NaN when either operand is NaN.
/// SimulatorBug for bitwise operators.
float apply(AluOp op, float a, float b);
/// a op b on integers, exact (the destination wraps); shifts are logical on 32 bits, an amount
/// outside [0, 31] gives 0. SimulatorBug unless is_exact_on_integers(op).
int64_t apply(AluOp op, int64_t a, int64_t b);

/// Functions of the Scalar engine.
enum class Activation : uint8_t {
  kIdentity,
  kRelu,
  kExp,
  kGelu,
  kSigmoid,
  kTanh,
  kSquare,
  kSqrt,
  kRsqrt,
};
std::string_view name(Activation function);
std::optional<Activation> parse_activation(std::string_view name);
/// `count` fp32 values; source and target may be the same. Errors in units in the last place:
/// identity, relu, square, sqrt 0.5; exp, sigmoid, tanh, rsqrt 1; gelu (exact, with erf) 1.
/// NaN gives NaN everywhere; sqrt and rsqrt of negative values give NaN; rsqrt of +-0 is +-inf.
void apply(Activation function, const float* source, float* target, int64_t count);
/// Functions of one table need no reload between them; identity, relu, square are in every table.
int table_of(Activation function);

}  // namespace neuron_sim
