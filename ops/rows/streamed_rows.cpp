#include "ops/pointwise/pointwise.h"
#include "ops/reduction/reduction.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

void emit_streamed_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                        const RowProgram& given) {
  const RowProgram program = with_values_in_place(given, operands.size());
  const std::vector<int64_t>& shape = operands.front().shape;
  std::vector<int64_t> row_shape = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (program.reduced[i]) row_shape[i] = 1;
  }
  std::vector<HbmTensor> inputs(operands.begin(), operands.end()), numbers;
  for (const RowStage& stage : program.stages) {
    const HbmTensor number = scratch_tensor(builder, "row_number", row_shape, Dtype::kFloat32);
    const ReductionOptions options{.op = stage.op,
                                   .prologue = stage.value,
                                   .epilogue = stage.finish,
                                   .reduced = program.reduced};
    emit_reduction(builder, inputs, std::array{number}, options);
    inputs.push_back(expanded(number, shape));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<HbmTensor> used = inputs;
    if (results[i].shape != shape) {
      // One number per row: the first element of an operand that is constant along it.
      for (HbmTensor& input : used) input.shape = row_shape;
    }
    emit_pointwise(builder, used, results.subspan(i, 1), program.results[i]);
  }
}

}  // namespace neuron_sim
