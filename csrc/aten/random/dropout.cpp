// dropout and bernoulli_ with one probability, with the random numbers of the Vector engine.

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/random/random_seed.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/generator.h"
#include "csrc/runtime/semantics.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr double kNumbers = 16777216;  // 24 random bits

/// TorchNeuron draws masks on the CPU, as it draws all random numbers.
bool cpu_draws() { return vendor_semantics() && random_source() == RandomSource::kHost; }

/// 1 where a random number, of 24 bits, is below the probability.
ElementValue drawn(ElementValue random, double probability) {
  return compare(AluOp::kLess, random, probability * kNumbers);
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
  if (cpu_draws()) {
    mask.bernoulli_(1 - probability);
    expression.add_result(expression.input(0) * (1 / (1 - probability)) * expression.input(1));
    run_pointwise(expression, {dense, mask}, output);
    return {output, mask};
  }
  const ElementValue kept = drawn(expression.input(1), 1 - probability);
  expression.add_result(expression.input(0) * (1 / (1 - probability)) * kept);
  expression.add_result(kept);
  const Tensor seed = next_seed(input);
  KernelCall call("dropout", input.device());
  call.operand(dense).operand(seed).result(output).result(mask);
  call.launch(kRandomPointwise, expression);
  return {output, mask};
}

/// 1 with that probability, else 0: the basis of dropout of whole channels.
Tensor& bernoulli(Tensor& self, double probability, std::optional<at::Generator> generator) {
  TORCH_CHECK(probability >= 0 && probability <= 1,
              "bernoulli_ expects p to be in [0, 1], but got p=", probability);
  check_computable(self.scalar_type());
  if (!self.is_floating_point()) throw Refusal{"the device draws floating dtypes"};
  if (cpu_draws()) throw Refusal{"the CPU draws random numbers"};
  generator_or_default(generator, self.device().index());
  at::assert_no_internal_overlap(self);
  if (self.numel() == 0) return self;
  const c10::DeviceGuard guard(self.device());
  Expression expression;
  expression.add_result(drawn(expression.input(0), probability));
  const Tensor seed = next_seed(self, generator);
  KernelCall call("bernoulli", self.device());
  call.operand(seed).result(self).launch(kRandomPointwise, expression);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bernoulli_.float", device_operator<bernoulli>());
  m.impl("native_dropout", device_operator<native_dropout>());
}

}  // namespace neuron_sim
