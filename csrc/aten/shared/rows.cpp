#include "csrc/aten/shared/rows.h"

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/kernel_call.h"

namespace neuron_sim {

namespace {

void add_expanded(KernelCall& call, const at::Tensor& operand, at::IntArrayRef sizes) {
  if (operand.sizes() == sizes) {
    call.operand(operand, sizes, operand.strides());
    return;
  }
  const at::Tensor whole = operand.expand(sizes);
  call.operand(whole, sizes, whole.strides());
}

/// `program`: the row program, or what stands for it in the key.
template <typename Program>
void launch_rows(const KernelDefinition<Program>& kernel, const Program& program,
                 at::ArrayRef<at::Tensor> operands, at::ArrayRef<at::Tensor> results) {
  const at::Tensor& first = operands.front();
  if (first.numel() == 0) return;
  KernelCall call(kernel.name, first.device());
  for (const at::Tensor& operand : operands) {
    check_computable(operand.scalar_type());
    add_expanded(call, operand, first.sizes());
  }
  for (const at::Tensor& result : results) {
    check_computable(result.scalar_type());
    call.result(result);
  }
  call.launch(kernel, program);
}

const KernelDefinition<StaticRowProgram> kStaticRows{
    .name = kRowProgramKernel.name,
    .emit =
        [](Builder& builder, HbmTensors operands, HbmTensors results,
           const StaticRowProgram& given) {
          kRowProgramKernel.emit(builder, operands, results, given.program);
        },
    .traits =
        [](std::span<const TensorSpec> operands, const StaticRowProgram& given) {
          return kRowProgramKernel.traits(operands, given.program);
        }};

}  // namespace

void run_rows(const RowProgram& program, at::ArrayRef<at::Tensor> operands,
              at::ArrayRef<at::Tensor> results) {
  launch_rows(kRowProgramKernel, program, operands, results);
}

void run_rows(const StaticRowProgram& program, at::ArrayRef<at::Tensor> operands,
              at::ArrayRef<at::Tensor> results) {
  launch_rows(kStaticRows, program, operands, results);
}

namespace {

/// `form`: the expression's, if known.
void launch_pointwise(const Expression& expression, const ExpressionForm* form,
                      at::ArrayRef<at::Tensor> operands, at::ArrayRef<at::Tensor> results) {
  const at::Tensor& first = results.front();
  KernelCall call("pointwise", first.device());
  for (const at::Tensor& operand : operands) {
    check_computable(operand.scalar_type());
    add_expanded(call, operand, first.sizes());
  }
  for (const at::Tensor& result : results) {
    check_computable(result.scalar_type());
    call.result(result);
  }
  call.launch(expression, form);
}

}  // namespace

void run_pointwise(const Expression& expression, at::ArrayRef<at::Tensor> operands,
                   at::ArrayRef<at::Tensor> results) {
  launch_pointwise(expression, nullptr, operands, results);
}

void run_pointwise(const FormedExpression& formed, at::ArrayRef<at::Tensor> operands,
                   at::ArrayRef<at::Tensor> results) {
  launch_pointwise(formed.expression, &formed.form, operands, results);
}

}  // namespace neuron_sim
