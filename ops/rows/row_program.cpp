#include "ops/rows/row_program.h"

namespace neuron_sim {

std::vector<int64_t> RowProgram::key() const {
  std::vector<int64_t> key{static_cast<int64_t>(stages.size())};
  const auto add = [&](const Expression& expression) {
    const std::vector<int64_t> part = expression.key();
    key.insert(key.end(), part.begin(), part.end());
  };
  for (const RowStage& stage : stages) {
    key.push_back(static_cast<int64_t>(stage.op));
    add(stage.value);
    add(stage.finish);
  }
  for (const Expression& result : results) add(result);
  for (const bool flag : reduced) key.push_back(static_cast<int64_t>(flag));
  return key;
}

HbmTensor expanded(HbmTensor tensor, const std::vector<int64_t>& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tensor.shape[i] == 1 && shape[i] != 1) tensor.strides[i] = 0;
  }
  tensor.shape = shape;
  return tensor;
}

void emit_row_program(Builder& builder, const RowProgram& program,
                      std::span<const HbmTensor> operands, std::span<const HbmTensor> results) {
  bool fused = false;
  builder.scope([&] { fused = emit_fused_rows(builder, program, operands, results); });
  if (!fused) emit_streamed_rows(builder, program, operands, results);
}

}  // namespace neuron_sim
