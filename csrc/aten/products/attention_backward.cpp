// The gradient of scaled_dot_product_attention: one kernel, or several whose results add up when
// the heads do not fit SBUF.

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/products/attention_parts.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"
#include "ops/attention/backward.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Operands and results of one launch, by key heads and members; bias and its gradient may be
/// undefined. `log_sums` is dense.
struct Launch {
  Tensor gradient;
  AttentionOperands operands;
  Tensor output, log_sums;
  AttentionOperands results;
  AttentionOptions options;
};

void launch(const Launch& given) {
  const AttentionOperands &operands = given.operands, &results = given.results;
  KernelCall call(kAttentionBackward.name, given.gradient.device());
  call.operand(given.gradient).operand(operands.query).operand(operands.key);
  call.operand(operands.value).operand(given.output).operand(given.log_sums);
  if (operands.bias.defined()) {
    call.operand(operands.bias, operands.bias.sizes(), operands.bias.strides());
  }
  call.result(results.query).result(results.key).result(results.value);
  if (results.bias.defined()) call.result(results.bias);
  call.launch(kAttentionBackward, given.options);
}

/// Zeros to accumulate parts of a result in.
Tensor sums_like(const Tensor& tensor) {
  return at::zeros_like(tensor, tensor.options().dtype(at::kFloat), at::MemoryFormat::Contiguous);
}
Tensor part_like(const Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().dtype(at::kFloat));
}

void run_parts(const Launch& all, const AttentionSizes& sizes, const AttentionPart& first) {
  const AttentionOperands sums{
      sums_like(all.results.query), sums_like(all.results.key), sums_like(all.results.value), {}};
  for_parts(sizes, first, all.options.causal, [&](const AttentionPart& part) {
    Launch one{queries_of(all.gradient, part),
               operands_of(all.operands, part),
               queries_of(all.output, part),
               queries_of(all.log_sums, part).contiguous(),
               {},
               {all.options.scale, part.causal}};
    one.results = {part_like(one.operands.query),
                   part_like(one.operands.key),
                   part_like(one.operands.value),
                   {}};
    if (all.results.bias.defined()) {
      one.results.bias = queries_of(all.results.bias, part).narrow(4, part.key, part.keys);
    }
    launch(one);
    queries_of(sums.query, part).add_(one.results.query);
    keys_of(sums.key, part).add_(one.results.key);
    keys_of(sums.value, part).add_(one.results.value);
  });
  Tensor(all.results.query).copy_(sums.query);
  Tensor(all.results.key).copy_(sums.key);
  Tensor(all.results.value).copy_(sums.value);
}

using Backward = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Backward attention_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                            const Tensor& value, const Tensor& bias, std::array<bool, 4> mask,
                            const Tensor& output, const Tensor& log_sums,
                            const Tensor& /*cum_seq_q*/, const Tensor& /*cum_seq_k*/,
                            c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double dropout,
                            bool causal, const Tensor& /*seed*/, const Tensor& /*offset*/,
                            std::optional<double> given_scale) {
  TORCH_CHECK(dropout == 0, "neuron_sim: the gradient of attention has no dropout");
  TORCH_CHECK(!(causal && bias.defined()),
              "neuron_sim: the gradient of attention takes a mask or is_causal, not both");
  const c10::DeviceGuard guard(query.device());
  Tensor for_query = at::empty_like(query), for_key = at::empty_like(key);
  Tensor for_value = at::empty_like(value), for_bias, for_scores;
  const int64_t key_heads = key.size(1);
  const auto grouped = [&](const Tensor& tensor) { return by_key_heads(tensor, key_heads); };
  Launch all{
      grouped(gradient),
      attention_operands(query, key, value, bias.defined() ? std::optional(bias) : std::nullopt),
      grouped(output),
      grouped(log_sums),
      {grouped(for_query), grouped(for_key), grouped(for_value), {}},
      {attention_scale(query, given_scale), causal}};
  if (mask[3] && bias.defined()) {
    for_scores =
        at::empty({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options());
    all.results.bias = grouped(for_scores);
  }
  const AttentionSizes sizes = attention_sizes(query, key, value);
  translate_errors([&] {
    const Limits& limits = device_architecture(query.device().index()).limits;
    const AttentionPart part = first_part(
        sizes, [&](const AttentionSizes& some) { return attention_backward_fits(limits, some); });
    is_whole(sizes, part) ? launch(all) : run_parts(all, sizes, part);
  });
  if (for_scores.defined()) for_bias = for_scores.sum_to_size(bias.sizes());
  if (!mask[0]) for_query = Tensor();
  if (!mask[1]) for_key = Tensor();
  if (!mask[2]) for_value = Tensor();
  return {for_query, for_key, for_value, for_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward);
}

}  // namespace neuron_sim
