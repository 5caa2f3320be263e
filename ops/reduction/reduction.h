#pragma once
// Reduction over any dimensions: result = epilogue(op over reduced dimensions of
// prologue(operands)).
//
// Algorithm. Where the fastest dimension of the operand is reduced, kept elements lie on
// partitions and reduced ones are free: tensor_reduce over tiles, partial results combined on
// Vector (row_reduction.cpp). Few kept elements leave partitions idle, so the reduced dimension is
// cut into 128 parts first, whose partial results a second pass over a scratch tensor reduces.
// Where the fastest dimension is kept, it is free (column_reduction.cpp): reduced rows lie on
// partitions, their tiles are combined element by element, and 128 columns at a time are then
// transposed on chip and reduced; where there are many columns, they lie on all partitions and
// rows are combined one after the other.
//
// Roofline: DMA, the bytes of the operands; Vector, a cycle per element and partition of each
// step.

#include <array>
#include <vector>

#include "ops/contract/kernel_definition.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

struct ReductionOptions {
  AluOp op = AluOp::kAdd;       ///< add, multiply, maximum, minimum
  Expression prologue{};        ///< of the operands; no result: operand 0 unchanged
  Expression epilogue{};        ///< input 0 is the reduced value; no result: unchanged
  std::vector<bool> reduced{};  ///< per dimension of the operands
  static constexpr std::array kFields{"op", "prologue", "epilogue", "reduced"};
};

/// Operands share a shape (broadcast by strides of 0). The result has as many dimensions, of size
/// 1 where they are reduced. Computed in fp32, at most 2048 elements of a partition at a time,
/// rounded once. KernelError when the operands have no elements.
void emit_reduction(Builder& builder, HbmTensors operands, HbmTensors results,
                    const ReductionOptions& options);
inline constexpr KernelDefinition<ReductionOptions> kReduction{.name = "reduction",
                                                               .emit = emit_reduction};

}  // namespace neuron_sim
