// The operators of torch.nn.SyncBatchNorm: the statistics of a batch that several ranks share. Each
// rank makes its own, gathers those of all ranks, and normalises; in backward it makes its own
// sums, which the ranks add up.

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/rows/batch_norm.h"
#include "csrc/aten/rows/norms.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using TwoTensors = std::tuple<Tensor, Tensor>;
using FourTensors = std::tuple<Tensor, Tensor, Tensor, Tensor>;

void check_input(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias) {
  check_norm_dtypes(input, weight, bias);
  check_batch(input, weight, bias);
}

/// Mean and 1 / sqrt(variance + epsilon) of each channel, in fp32.
TwoTensors stats(const Tensor& input, double epsilon) {
  check_input(input, std::nullopt, std::nullopt);
  const c10::DeviceGuard guard(input.device());
  const Moments moments = moments_of(input);
  return {moments.mean, (moments.variance + epsilon).rsqrt()};
}

/// Of the means and inverse deviations [ranks, C] of batches with `counts` [ranks] elements per
/// channel those of all of them together.
TwoTensors gather_stats_with_counts(const Tensor& input, const Tensor& mean, const Tensor& inverse,
                                    const OptionalTensor& running_mean,
                                    const OptionalTensor& running_variance, double momentum,
                                    double epsilon, const Tensor& counts) {
  check_norm_dtypes(mean, inverse, std::nullopt);
  TORCH_CHECK(mean.dim() == 2 && mean.sizes() == inverse.sizes() && counts.numel() == mean.size(0),
              "batch_norm_gather_stats_with_counts: the means have sizes ", mean.sizes(),
              ", the inverse deviations ", inverse.sizes(), ", the counts ", counts.sizes());
  TORCH_CHECK(input.dim() >= 2 && input.size(1) == mean.size(1),
              "batch_norm_gather_stats_with_counts: the input has sizes ", input.sizes(),
              ", the means ", mean.sizes());
  check_statistics(input, running_mean, running_variance, false);
  const c10::DeviceGuard guard(input.device());
  const Tensor count = counts.reshape({-1, 1}).to(at::kFloat);
  const Tensor total = count.sum();
  const Tensor means = mean.to(at::kFloat);
  const Tensor joint = (means * count).sum(0) / total;
  const Tensor squares = inverse.to(at::kFloat).pow(-2) - epsilon + (means - joint).square();
  const Tensor deviation = (squares * count).sum(0);
  update_running(running_mean, joint, momentum);
  update_running(running_variance, deviation / (total - 1), momentum);
  return {joint, (deviation / total + epsilon).rsqrt()};
}

TwoTensors gather_stats(const Tensor& input, const Tensor& mean, const Tensor& inverse,
                        const OptionalTensor& running_mean, const OptionalTensor& running_variance,
                        double momentum, double epsilon, int64_t count) {
  TORCH_CHECK(mean.dim() == 2, "batch_norm_gather_stats: the means have sizes ", mean.sizes());
  const Tensor counts = at::empty({mean.size(0)}, mean.options()).fill_(count);
  return gather_stats_with_counts(input, mean, inverse, running_mean, running_variance, momentum,
                                  epsilon, counts);
}

Tensor elemt(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
             const Tensor& mean, const Tensor& inverse, double /*epsilon*/) {
  check_input(input, weight, bias);
  check_statistics(input, mean, inverse, true);
  const c10::DeviceGuard guard(input.device());
  return normalised(input, mean, inverse, weight, bias);
}

Tensor& elemt_out(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const Tensor& mean, const Tensor& inverse, double epsilon, Tensor& out) {
  return give_result(elemt(input, weight, bias, mean, inverse, epsilon), out);
}

void check_gradient(const Tensor& gradient, const Tensor& input, const Tensor& mean,
                    const Tensor& inverse, const OptionalTensor& weight) {
  check_input(input, weight, std::nullopt);
  check_statistics(input, mean, inverse, true);
  TORCH_CHECK(gradient.sizes() == input.sizes(), "batch_norm: the gradient has sizes ",
              gradient.sizes(), ", the input ", input.sizes());
}

/// Of this rank's elements: sum g, sum g (x - mean), and the gradients of weight and bias.
FourTensors backward_reduce(const Tensor& gradient, const Tensor& input, const Tensor& mean,
                            const Tensor& inverse, const OptionalTensor& weight, bool for_input,
                            bool for_weight, bool for_bias) {
  check_gradient(gradient, input, mean, inverse, weight);
  const c10::DeviceGuard guard(input.device());
  const auto options = input.options().dtype(at::kFloat);
  Tensor sum = at::empty({input.size(1)}, options), slope = at::empty({input.size(1)}, options);
  reduce_into(sum, gradient, {.op = AluOp::kAdd, .reduced = all_but_channels(input)});
  const Expression product =
      make_expression([](Expression& e) { return e.input(0) * (e.input(1) - e.input(2)); });
  reduce_into(slope, {gradient, input, per_channel(mean, input).expand_as(input)},
              {.op = AluOp::kAdd, .prologue = product, .reduced = all_but_channels(input)});
  FourTensors results;
  if (for_input) std::get<0>(results) = sum;
  if (for_input) std::get<1>(results) = slope;
  if (!given(weight)) return results;
  if (for_weight) std::get<2>(results) = (slope * inverse).to(weight->scalar_type());
  if (for_bias) std::get<3>(results) = sum.to(weight->scalar_type(), false, /*copy=*/true);
  return results;
}

/// inverse w (g - sum / n - (x - mean) inverse^2 slope / n), with the sums of all ranks and n the
/// sum of `counts`.
Tensor backward_elemt(const Tensor& gradient, const Tensor& input, const Tensor& mean,
                      const Tensor& inverse, const OptionalTensor& weight, const Tensor& sum,
                      const Tensor& slope, const Tensor& counts) {
  check_gradient(gradient, input, mean, inverse, weight);
  check_statistics(input, sum, slope, true);
  const c10::DeviceGuard guard(input.device());
  const Tensor total = counts.sum().to(at::kFloat);
  const Tensor factor = inverse.square() * slope / total;
  std::vector<Tensor> operands{gradient, input};
  for (const Tensor& vector : {mean, inverse, sum / total, factor}) {
    operands.push_back(per_channel(vector, input));
  }
  if (given(weight)) operands.push_back(per_channel(*weight, input));
  const Expression expression = make_expression([&](Expression& e) {
    const ElementValue value = e.input(0) - e.input(4) - (e.input(1) - e.input(2)) * e.input(5);
    return given(weight) ? value * e.input(3) * e.input(6) : value * e.input(3);
  });
  const Tensor result = at::empty_like(input, input.suggest_memory_format());
  run_pointwise(expression, operands, result);
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("batch_norm_stats", device_operator<stats>());
  m.impl("batch_norm_gather_stats", device_operator<gather_stats>());
  m.impl("batch_norm_gather_stats_with_counts", device_operator<gather_stats_with_counts>());
  m.impl("batch_norm_elemt", device_operator<elemt>());
  m.impl("batch_norm_elemt.out", device_operator<elemt_out>());
  m.impl("batch_norm_backward_reduce", device_operator<backward_reduce>());
  m.impl("batch_norm_backward_elemt", device_operator<backward_elemt>());
}

}  // namespace neuron_sim
