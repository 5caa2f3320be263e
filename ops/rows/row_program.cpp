#include "ops/rows/row_program.h"

namespace neuron_sim {

HbmTensor expanded(HbmTensor tensor, const std::vector<int64_t>& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tensor.shape[i] == 1 && shape[i] != 1) tensor.strides[i] = 0;
  }
  tensor.shape = shape;
  return tensor;
}

void emit_row_program(Builder& builder, HbmTensors operands, HbmTensors results,
                      const RowProgram& program) {
  bool fused = false;
  builder.scope([&] { fused = emit_fused_rows(builder, operands, results, program); });
  if (!fused) emit_streamed_rows(builder, operands, results, program);
}

}  // namespace neuron_sim
