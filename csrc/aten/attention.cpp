// scaled_dot_product_attention: one kernel forward, products and pointwise operators backward. What
// the kernel does not take (dropout, other ranks) is composed by torch of operators of the device.

#include <ATen/SDPBackend.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_permuted.h>
#include <ATen/ops/matmul.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "csrc/aten/device_operator.h"
#include "csrc/kernel_call.h"
#include "ops/kernels/attention.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr int64_t kWidest = 512;  // elements of a value: a PSUM bank of fp32

bool given(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

bool is_plain(const Tensor& tensor, const Tensor& query) {
  return tensor.layout() == at::kStrided && tensor.dim() == 4 &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         tensor.scalar_type() == query.scalar_type() && tensor.device() == query.device() &&
         !tensor.is_neg() && tensor.numel() > 0;
}

/// Whether the kernel takes them.
bool is_taken(const Tensor& query, const Tensor& key, const Tensor& value,
              const OptionalTensor& mask, double dropout, bool shares_heads) {
  const at::ScalarType type = query.scalar_type();
  if (type != at::kFloat && type != at::kHalf && type != at::kBFloat16) return false;
  if (!is_plain(query, query) || !is_plain(key, query) || !is_plain(value, query)) return false;
  if (dropout != 0 || value.size(3) > kWidest) return false;
  const bool heads =
      key.size(1) == value.size(1) &&
      (query.size(1) == key.size(1) || (shares_heads && query.size(1) % key.size(1) == 0));
  const bool sizes = query.size(0) == key.size(0) && key.size(0) == value.size(0) &&
                     query.size(3) == key.size(3) && key.size(2) == value.size(2);
  const bool masks =
      !given(mask) || (mask->device() == query.device() && mask->dim() <= 4 &&
                       (mask->scalar_type() == type || mask->scalar_type() == at::kBool));
  return heads && sizes && masks;
}

int64_t choose(const Tensor& query, const Tensor& key, const Tensor& value,
               const OptionalTensor& mask, double dropout, bool /*causal*/,
               std::optional<double> /*scale*/, bool enable_gqa) {
  return static_cast<int64_t>(is_taken(query, key, value, mask, dropout, enable_gqa)
                                  ? at::SDPBackend::overrideable
                                  : at::SDPBackend::math);
}

double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3))));
}

at::DimVector score_sizes(const Tensor& query, const Tensor& key) {
  return {query.size(0), query.size(1), query.size(2), key.size(2)};
}

void launch_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const OptionalTensor& bias, const Tensor& output, const Tensor& log_sums,
                      const AttentionOptions& options) {
  const bool biased = given(bias);
  KernelCall call("attention", query.device());
  call.operand(query).operand(key).operand(value);
  if (biased) {
    const Tensor whole = bias->expand(score_sizes(query, key));
    call.operand(whole, whole.sizes(), whole.strides());
  }
  call.result(output).result(log_sums);
  call.option(biased ? 1 : 0)
      .option(std::bit_cast<int64_t>(options.scale))
      .option(options.causal ? 1 : 0);
  call.launch([biased, options](Builder& builder, std::span<const HbmTensor> operands,
                                std::span<const HbmTensor> results) {
    emit_attention(builder, operands[0], operands[1], operands[2],
                   biased ? std::optional(operands[3]) : std::nullopt, results[0], results[1],
                   options);
  });
}

/// [B, H, Sq, width] with the dimensions in the order in which they lie in the query's memory, as
/// the meta kernel predicts.
Tensor empty_like_query(const Tensor& query, int64_t width) {
  at::DimVector order{0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return query.stride(a) > query.stride(b); });
  return at::empty_permuted({query.size(0), query.size(1), query.size(2), width}, order,
                            query.options());
}

using Forward =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Forward attention(const Tensor& query, const Tensor& key, const Tensor& value,
                  const OptionalTensor& bias, double dropout, bool causal, bool /*debug_mask*/,
                  std::optional<double> scale) {
  TORCH_CHECK(is_taken(query, key, value, bias, dropout, true),
              "neuron_sim: attention needs query, key and value [N, heads, length, width] of one "
              "dtype (float32, float16, bfloat16), a width of values up to ",
              kWidest, ", and no dropout");
  const c10::DeviceGuard guard(query.device());
  Tensor output = empty_like_query(query, value.size(3));
  Tensor log_sums =
      at::empty({query.size(0), query.size(1), query.size(2)}, query.options().dtype(at::kFloat));
  translate_errors([&] {
    launch_attention(query, key, value, bias, output, log_sums, {scale_of(query, scale), causal});
  });
  const Tensor state = at::empty({}, query.options().dtype(at::kLong));
  return {output, log_sums, Tensor(), Tensor(), query.size(2), key.size(2), state, state, Tensor()};
}

/// [B, Hk, group, S, X] of query heads, for products with key heads.
Tensor grouped(const Tensor& tensor, int64_t key_heads) {
  return tensor.unflatten(1, {key_heads, tensor.size(1) / key_heads});
}
/// A gradient by query heads, added up by key heads.
Tensor by_key_heads(const Tensor& tensor, int64_t key_heads) {
  return tensor.size(1) == key_heads ? tensor : grouped(tensor, key_heads).sum(2);
}
/// Key heads repeated for the query heads that share them.
Tensor for_query_heads(const Tensor& tensor, int64_t heads) {
  const int64_t group = heads / tensor.size(1);
  if (group == 1) return tensor;
  return tensor.unsqueeze(2)
      .expand({tensor.size(0), tensor.size(1), group, tensor.size(2), tensor.size(3)})
      .reshape({tensor.size(0), heads, tensor.size(2), tensor.size(3)});
}

/// The probabilities of the forward pass, [B, H, Sq, Sk] in fp32.
Tensor probabilities(const Tensor& query, const Tensor& key, const Tensor& bias,
                     const Tensor& log_sums, bool causal, double scale) {
  Tensor scores = at::matmul(query, key.transpose(-2, -1)).mul_(scale);
  if (bias.defined()) scores.add_(bias.to(at::kFloat));
  Tensor result = scores.sub_(log_sums.unsqueeze(-1)).exp_();
  return causal ? result.tril() : result;
}

using Backward = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// With P the probabilities: dV = P' dO, dS = P * (dO V' - sum(dO * O)), dQ = dS K, dK = dS' Q.
Backward attention_backward(const Tensor& gradient, const Tensor& query, const Tensor& key,
                            const Tensor& value, const Tensor& bias, std::array<bool, 4> mask,
                            const Tensor& output, const Tensor& log_sums,
                            const Tensor& /*cum_seq_q*/, const Tensor& /*cum_seq_k*/,
                            c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double /*dropout*/,
                            bool causal, const Tensor& /*seed*/, const Tensor& /*offset*/,
                            std::optional<double> given_scale) {
  const c10::DeviceGuard guard(query.device());
  const at::ScalarType type = query.scalar_type();
  const double scale = scale_of(query, given_scale);
  const int64_t heads = query.size(1), key_heads = key.size(1);
  const auto wide = [](const Tensor& tensor) { return tensor.to(at::kFloat); };
  const Tensor q = wide(query), k = for_query_heads(wide(key), heads);
  const Tensor v = for_query_heads(wide(value), heads), outer = wide(gradient);
  const Tensor p = probabilities(q, k, bias, log_sums, causal, scale);
  Tensor for_query, for_key, for_value, for_bias;
  if (mask[2]) {
    for_value = by_key_heads(at::matmul(p.transpose(-2, -1), outer), key_heads).to(type);
  }
  if (!mask[0] && !mask[1] && !mask[3]) return {for_query, for_key, for_value, for_bias};
  const Tensor inner = (outer * wide(output)).sum(at::IntArrayRef{-1}, true);
  const Tensor scores = (at::matmul(outer, v.transpose(-2, -1)) - inner) * p;
  if (mask[0]) for_query = at::matmul(scores, k).mul_(scale).to(type);
  if (mask[1]) {
    const Tensor all = at::matmul(scores.transpose(-2, -1), q).mul_(scale);
    for_key = by_key_heads(all, key_heads).to(type);
  }
  if (mask[3] && bias.defined()) for_bias = scores.sum_to_size(bias.sizes()).to(bias.scalar_type());
  return {for_query, for_key, for_value, for_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable", attention);
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward);
  m.impl("_fused_sdp_choice", choose);
}

}  // namespace neuron_sim

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &neuron_sim::choose)
}  // namespace at::native
