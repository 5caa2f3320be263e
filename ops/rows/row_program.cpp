#include "ops/rows/row_program.h"

#include "ops/contract/fusion_traits.h"
#include "ops/pointwise/compose.h"

namespace neuron_sim {

HbmTensor expanded(HbmTensor tensor, const std::vector<int64_t>& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (tensor.shape[i] == 1 && shape[i] != 1) tensor.strides[i] = 0;
  }
  tensor.shape = shape;
  return tensor;
}

RowProgram with_values_in_place(const RowProgram& program, size_t operands) {
  const size_t values = program.prepared.size();
  const auto in_place = [&](const Expression& expression) {
    return with_inputs(expression, [&](Expression& target, size_t input) {
      if (input < operands) return target.input(static_cast<int>(input));
      if (input >= operands + values) return target.input(static_cast<int>(input - values));
      const Expression& value = program.prepared[input - operands];
      return append_steps(target, value, first_inputs(target, operands)).front();
    });
  };
  RowProgram result{.reduced = program.reduced};
  for (const RowStage& stage : program.stages) {
    result.stages.push_back({stage.op, in_place(stage.value), stage.finish});
  }
  for (const Expression& expression : program.results) {
    result.results.push_back(in_place(expression));
  }
  return result;
}

void emit_row_program(Builder& builder, HbmTensors operands, HbmTensors results,
                      const RowProgram& program) {
  bool fused = false;
  builder.scope([&] { fused = emit_fused_rows(builder, operands, results, program); });
  if (!fused) emit_streamed_rows(builder, operands, results, program);
}

const KernelDefinition<RowProgram> kRowProgramKernel{
    .name = "rows",
    .emit = emit_row_program,
    .traits = [](std::span<const TensorSpec>, const RowProgram& program) {
      FusionTraits traits;
      traits.set(program);
      return traits;
    }};

}  // namespace neuron_sim
