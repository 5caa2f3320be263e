// dropout, with the random numbers of the Vector engine.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/device_operator.h"
#include "csrc/aten/rows.h"
#include "csrc/generator.h"
#include "csrc/graph/capture.h"
#include "csrc/kernel_call.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

using at::Tensor;

Tensor drawn_seed(at::Device device) {
  const at::Generator twin = host_twin(default_generator(device.index()));
  auto* const generator = at::check_generator<at::CPUGeneratorImpl>(twin);
  const std::lock_guard lock(generator->mutex_);
  const auto seed = static_cast<int32_t>(generator->random());
  return at::scalar_tensor(seed, at::TensorOptions().dtype(at::kInt)).to(device);
}

/// 32 bits of the device's generator on the device: the seed of one kernel, so that
/// torch.manual_seed decides its numbers. Every run of a graph draws another one.
Tensor next_seed(const Tensor& like) {
  const auto draw = [device = like.device()] { return drawn_seed(device); };
  GraphCapture* const capture = GraphCapture::active();
  return capture == nullptr ? draw() : capture->run_on_host("seed", draw);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double probability,
                                          std::optional<bool> train) {
  check_computable(input.scalar_type());
  if (!input.is_floating_point()) throw Refusal{"dropout is of floating dtypes"};
  const c10::DeviceGuard guard(input.device());
  if (!train.value_or(true)) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  if (probability >= 1) {
    return {at::zeros_like(input), at::zeros_like(input, input.options().dtype(at::kBool))};
  }
  const Tensor dense = input.contiguous();
  const Tensor output = at::empty_like(dense);
  const Tensor mask = at::empty_like(dense, dense.options().dtype(at::kBool));
  Expression expression;
  const ElementValue kept =
      compare(AluOp::kGreaterEqual, expression.input(1), probability * 16777216);
  expression.add_result(expression.input(0) * (1 / (1 - probability)) * kept);
  expression.add_result(kept);
  const Tensor seed = next_seed(input);
  KernelCall call("dropout", input.device());
  call.options(expression.key()).operand(dense).operand(seed.view(1)).result(output).result(mask);
  call.launch([expression](Builder& builder, std::span<const HbmTensor> operands,
                           std::span<const HbmTensor> results) {
    emit_random_pointwise(builder, expression, operands.first(1), results, operands[1]);
  });
  return {output, mask};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("native_dropout", device_operator<native_dropout>());
}

}  // namespace neuron_sim
