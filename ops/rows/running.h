#pragma once
// Running sums, products and extrema along one dimension, and linear recurrences.
//
// Algorithm: rows on partitions, tensor_tensor_scan along each piece of a row, which starts from
// the last value of the previous piece.
//
// Roofline: Vector, about two cycles per element of a row, 128 rows at a time.

#include <array>

#include "device/numerics/operators.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct RunningOptions {
  AluOp op = AluOp::kAdd;
  static constexpr std::array kFields{"op"};
};

/// result[..., i] = op of operand[..., 0] to operand[..., i] along the last dimension; kAdd,
/// kMultiply, kMaximum or kMinimum (NaN wins), in fp32 one after the other, rounded once. With a
/// second operand and kAdd, result[..., i] = second[..., i] * result[..., i - 1] + operand[..., i],
/// of fp32 results. One shape.
void emit_running(Builder& builder, HbmTensors operands, HbmTensors results,
                  const RunningOptions& options);
inline constexpr KernelDefinition<RunningOptions> kRunning{.name = "running", .emit = emit_running};

}  // namespace neuron_sim
