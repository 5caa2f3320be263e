// Random tensors that the chip draws when it is the source of random numbers (RandomSource). By
// default the host side draws them: the CPU's numbers for that seed.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include <numbers>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/random/random_seed.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/generator.h"
#include "ops/pointwise/functions.h"
#include "ops/pointwise/pointwise.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalGenerator = std::optional<at::Generator>;

constexpr double kStep = 1 / 16777216.0;  // a kernel's random integers have 24 bits

/// Refuses unless the chip draws numbers for `self`.
void check_drawn(const Tensor& self, const OptionalGenerator& generator) {
  if (random_source() == RandomSource::kHost) throw Refusal{"the host side draws random numbers"};
  if (!on_device(self)) throw Refusal{"the tensor is not on the device"};
  generator_or_default(generator, self.device().index());
  check_computable(self.scalar_type());
}

/// Random multiples of 2^-bits in [0, 1), fp32, of the shape of `like`.
Tensor drawn(const Tensor& like, const OptionalGenerator& generator, int bits = 24) {
  const c10::DeviceGuard guard(like.device());
  const Tensor result =
      at::empty(like.sizes(), like.options().dtype(at::kFloat), at::MemoryFormat::Contiguous);
  if (result.numel() == 0) return result;
  Expression expression;
  const double step = 1 / static_cast<double>(1 << bits);
  const ElementValue number = expression.input(0);
  expression.add_result(bits == 24 ? number * kStep : floor(number * (kStep / step)) * step);
  const Tensor seed = next_seed(like, generator);
  KernelCall call(kRandomPointwise.name, like.device());
  call.operand(seed).result(result).launch(kRandomPointwise, expression);
  return result;
}

/// Bits that a dtype holds below 1, so that no number is rounded up to 1.
int bits_of(at::ScalarType type) { return type == at::kBFloat16 ? 8 : type == at::kHalf ? 11 : 24; }

Tensor& uniform(Tensor& self, double low, double high, OptionalGenerator generator) {
  check_drawn(self, generator);
  if (!self.is_floating_point()) throw Refusal{"the device draws floating numbers"};
  TORCH_CHECK(low <= high, "uniform_ expects to return a [from, to) range, but found from=", low,
              " > to=", high);
  return self.copy_(drawn(self, generator, bits_of(self.scalar_type())) * (high - low) + low);
}

/// sqrt(-2 log(1 - u)) cos(2 pi v) of two uniform numbers (Box and Muller).
Tensor normal_numbers(const Tensor& like, const OptionalGenerator& generator) {
  const Tensor first = drawn(like, generator), second = drawn(like, generator);
  const Tensor result = at::empty_like(first);
  Expression expression;
  const ElementValue radius =
      call(Activation::kSqrt, call(Activation::kLog, 1.0 - expression.input(0)) * -2.0);
  expression.add_result(radius * cosine(expression.input(1) * (2 * std::numbers::pi)));
  run_pointwise(expression, {first, second}, result);
  return result;
}

Tensor& normal(Tensor& self, double mean, double deviation, OptionalGenerator generator) {
  check_drawn(self, generator);
  if (!self.is_floating_point()) throw Refusal{"the device draws floating numbers"};
  TORCH_CHECK(deviation >= 0, "normal expects std >= 0.0, but found std ", deviation);
  return self.copy_(normal_numbers(self, generator) * deviation + mean);
}

Tensor normal_of_deviation(double mean, const Tensor& deviation, OptionalGenerator generator) {
  check_drawn(deviation, generator);
  return (normal_numbers(deviation, generator) * deviation + mean).to(deviation.scalar_type());
}

Tensor normal_of_mean(const Tensor& mean, double deviation, OptionalGenerator generator) {
  check_drawn(mean, generator);
  return (normal_numbers(mean, generator) * deviation + mean).to(mean.scalar_type());
}

Tensor normal_of_both(const Tensor& mean, const Tensor& deviation, OptionalGenerator generator) {
  check_drawn(mean, generator);
  const Tensor center = mean.expand(at::infer_size_dimvector(mean.sizes(), deviation.sizes()));
  return (normal_numbers(center, generator) * deviation + center).to(mean.scalar_type());
}

Tensor& bernoulli_tensor(Tensor& self, const Tensor& probabilities, OptionalGenerator generator) {
  check_drawn(self, generator);
  return self.copy_(drawn(self, generator).lt(probabilities.to(self.device())));
}

Tensor& bernoulli_out(const Tensor& probabilities, OptionalGenerator generator, Tensor& out) {
  check_drawn(out, generator);
  at::native::resize_output(out, probabilities.sizes());
  return out.copy_(drawn(probabilities, generator).lt(probabilities));
}

/// -log(1 - u) / rate.
Tensor exponential_numbers(const Tensor& like, const OptionalGenerator& generator, double rate) {
  // Half a step off 0, so that nothing is divided by 0.
  return (drawn(like, generator) * -1.0 + (1 - kStep / 2)).log() * (-1 / rate);
}

Tensor& exponential(Tensor& self, double rate, OptionalGenerator generator) {
  check_drawn(self, generator);
  if (!self.is_floating_point()) throw Refusal{"the device draws floating numbers"};
  TORCH_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  return self.copy_(exponential_numbers(self, generator, rate));
}

/// Categories by the race of exponential numbers of their rates: the first wins.
Tensor multinomial(const Tensor& self, c10::SymInt samples, bool replacement,
                   OptionalGenerator generator) {
  check_drawn(self, generator);
  const c10::DeviceGuard guard(self.device());
  const int64_t count = samples.expect_int(), categories = self.size(-1);
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || count <= categories,
              "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Tensor rates = self.to(at::kFloat);
  const Tensor valid = rates.ge(0).logical_and(rates.lt(INFINITY));
  TORCH_CHECK(valid.all().item<bool>(),
              "probability tensor contains either `inf`, `nan` or element < 0");
  if (replacement && count > 1) {
    at::DimVector shape(self.sizes());
    shape.insert(shape.end() - 1, count);
    rates = rates.unsqueeze(-2).expand(shape);
    return (rates / exponential_numbers(rates, generator, 1)).argmax(-1);
  }
  const Tensor speed = rates / exponential_numbers(rates, generator, 1);
  if (count == 1) return speed.argmax(-1, true);
  return std::get<1>(speed.topk(count, -1));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("uniform_", device_operator<uniform>());
  m.impl("normal_", device_operator<normal>());
  m.impl("normal.float_Tensor", device_operator<normal_of_deviation>());
  m.impl("normal.Tensor_float", device_operator<normal_of_mean>());
  m.impl("normal.Tensor_Tensor", device_operator<normal_of_both>());
  m.impl("bernoulli_.Tensor", device_operator<bernoulli_tensor>());
  m.impl("bernoulli.out", device_operator<bernoulli_out>());
  m.impl("exponential_", device_operator<exponential>());
  m.impl("multinomial", device_operator<multinomial>());
}

}  // namespace neuron_sim
