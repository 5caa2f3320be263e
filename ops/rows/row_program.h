#pragma once
// Kernels that reduce every row to a few numbers and then compute with rows and numbers: softmax,
// layer and group norms and their gradients.
//
// Algorithm: rows lie on partitions (several to one when they are short) and stay in SBUF: loaded
// once, reduced stage by stage on Vector, written once (fused_rows.cpp). Rows that SBUF cannot hold
// are read once per stage and once for the results (streamed_rows.cpp), with the numbers of the
// rows in scratch tensors.
//
// Roofline: DMA, the bytes of operands and results, read once per stage where rows are streamed.

#include <array>
#include <vector>

#include "ops/contract/kernel_definition.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// number = finish(op over the row of value(operands, prepared values, earlier numbers)).
struct RowStage {
  AluOp op = AluOp::kAdd;
  Expression value{};   ///< inputs: operands, prepared values, then the numbers of earlier stages
  Expression finish{};  ///< input 0: the reduced value; no result: unchanged
  static constexpr std::array kFields{"op", "value", "finish"};
};

struct RowProgram {
  std::vector<RowStage> stages{};
  /// results[i] = expression of operands, prepared values and numbers, computed in fp32 and rounded
  /// once.
  std::vector<Expression> results{};
  std::vector<bool> reduced{};  ///< per dimension: it belongs to the row
  /// Values of the full shape, expressions of operands, that stages and results share: computed
  /// once, in fp32.
  std::vector<Expression> prepared{};
  static constexpr std::array kFields{"stages", "results", "reduced", "prepared"};
};

/// The program without prepared values, for `operands` operands: expressions compute them where
/// they use them.
RowProgram with_values_in_place(const RowProgram& program, size_t operands);

/// All operands have the full shape (broadcast by strides of 0). A result has it too, or size 1 in
/// all row dimensions: one number per row, whose expression only uses operands that are constant
/// along a row. Rows have elements.
void emit_row_program(Builder& builder, HbmTensors operands, HbmTensors results,
                      const RowProgram& program);
extern const KernelDefinition<RowProgram> kRowProgramKernel;

/// Whether the plan with rows in SBUF has room.
bool fused_rows_fit(const Architecture& architecture, HbmTensors operands, HbmTensors results,
                    const RowProgram& program);
/// The plan with rows in SBUF; false (and nothing emitted) when they do not fit.
bool emit_fused_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                     const RowProgram& program);
/// The plan for rows of any length.
void emit_streamed_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                        const RowProgram& program);

/// The tensor repeated along dimensions where it has size 1 and `shape` has more.
HbmTensor expanded(HbmTensor tensor, const std::vector<int64_t>& shape);

}  // namespace neuron_sim
