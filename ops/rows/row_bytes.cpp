#include "ops/rows/row_bytes.h"

#include <algorithm>

#include "ops/pointwise/compose.h"
#include "ops/pointwise/expression_emitter.h"
#include "ops/pointwise/row_spreader.h"

namespace neuron_sim {
namespace {

int64_t slot_bytes(const Architecture& architecture, const Expression& expression) {
  if (expression.results().empty() || expression.is_operand()) return 0;
  return ExpressionEmitter::bytes_per_element(ExpressionPlan(expression, architecture.features));
}

std::vector<const Expression*> pointers(const std::vector<Expression>& expressions) {
  std::vector<const Expression*> result;
  result.reserve(expressions.size());
  for (const Expression& expression : expressions) result.push_back(&expression);
  return result;
}

}  // namespace

RowBytes row_bytes(const Architecture& architecture, const RowProgram& program,
                   std::span<const HbmTensor> tensors, size_t operands,
                   const std::set<Dtype>& shared) {
  const size_t values = program.prepared.size();
  const Expression prepared = together(pointers(program.prepared), operands);
  const Expression results =
      together(pointers(program.results), operands + values + program.stages.size());
  RowBytes bytes{4 + 4 * kRowRing + int64_t{4} * kRowRing * static_cast<int64_t>(values), 0};
  int64_t slots = std::max(slot_bytes(architecture, prepared), slot_bytes(architecture, results));
  int64_t row_slots = 0;
  for (const HbmTensor& tensor : tensors) {
    const bool single = tensor.shape != tensors.front().shape;
    (single ? bytes.per_row : bytes.per_element) += int64_t{kRowRing} * itemsize(tensor.dtype());
  }
  for (const Dtype dtype : shared) bytes.per_element += RowSpreader::bytes(dtype, 1);
  for (const RowStage& stage : program.stages) {
    bytes.per_row += int64_t{2} * 4 * kRowRing;
    slots = std::max(slots, slot_bytes(architecture, stage.value));
    row_slots = std::max(row_slots, slot_bytes(architecture, stage.finish));
  }
  return {bytes.per_element + slots, bytes.per_row + row_slots};
}

}  // namespace neuron_sim
