// The operators that nn.MultiheadAttention and nn.TransformerEncoderLayer call without gradients,
// composed of device operators.

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <torch/library.h>

#include "csrc/aten/products/padded_sequences.h"

#include <cmath>
#include <limits>

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// Kinds of masks, all of them true where a key does not count.
enum MaskType : int64_t { kAttentionMask = 0, kPaddingMask = 1, kWholeMask = 2 };

/// As [N or 1, heads or 1, T or 1, T].
OptionalTensor broadcast_mask(const OptionalTensor& mask, std::optional<int64_t> type) {
  if (!mask || !mask->defined()) return std::nullopt;
  const Tensor excluded = mask->to(at::kBool);
  switch (type.value_or(kAttentionMask)) {
    case kAttentionMask: return excluded.unsqueeze(0).unsqueeze(0);
    case kPaddingMask: return excluded.unsqueeze(1).unsqueeze(1);
    default: return excluded;
  }
}

std::tuple<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key,
                                                const Tensor& value, int64_t embed_dim,
                                                int64_t num_head, const Tensor& qkv_weight,
                                                const Tensor& qkv_bias, const Tensor& proj_weight,
                                                const Tensor& proj_bias, const OptionalTensor& mask,
                                                bool need_weights, bool average_attn_weights,
                                                std::optional<int64_t> mask_type) {
  const std::vector<Tensor> weights = qkv_weight.chunk(3, 0), biases = qkv_bias.chunk(3, 0);
  const auto project = [&](const Tensor& input, size_t i) {
    return at::linear(input, weights[i], biases[i])
        .view({input.size(0), input.size(1), num_head, embed_dim / num_head})
        .transpose(1, 2);
  };
  std::array<Tensor, 3> heads;
  if (query.is_same(key) && key.is_same(value)) {
    const auto all = at::linear(query, qkv_weight, qkv_bias)
                         .view({query.size(0), query.size(1), 3, num_head, embed_dim / num_head})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
    heads = {all[0], all[1], all[2]};
  } else {
    heads = {project(query, 0), project(key, 1), project(value, 2)};
  }
  const OptionalTensor excluded = broadcast_mask(mask, mask_type);
  const auto joined = [&](const Tensor& context) {
    return at::linear(context.transpose(1, 2).reshape({query.size(0), query.size(1), embed_dim}),
                      proj_weight, proj_bias);
  };
  if (!need_weights) {
    const OptionalTensor counted =
        excluded ? OptionalTensor(excluded->logical_not()) : std::nullopt;
    return {joined(at::scaled_dot_product_attention(heads[0], heads[1], heads[2], counted)),
            Tensor()};
  }
  const double scale = 1 / std::sqrt(static_cast<double>(embed_dim / num_head));
  Tensor scores = at::matmul(heads[0] * scale, heads[1].transpose(-2, -1));
  if (excluded) scores = scores.masked_fill(*excluded, -std::numeric_limits<double>::infinity());
  const Tensor attention = at::softmax(scores, -1);
  return {joined(at::matmul(attention, heads[2])),
          average_attn_weights ? attention.mean(1) : attention};
}

Tensor encoder_layer(const Tensor& source, int64_t embed_dim, int64_t num_heads,
                     const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
                     const Tensor& proj_bias, bool use_gelu, bool norm_first, double epsilon,
                     const Tensor& norm_weight_1, const Tensor& norm_bias_1,
                     const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                     const Tensor& ffn_weight_1, const Tensor& ffn_bias_1,
                     const Tensor& ffn_weight_2, const Tensor& ffn_bias_2,
                     const OptionalTensor& mask, std::optional<int64_t> mask_type) {
  const Tensor padding = padding_of(source);
  const auto attend = [&](const Tensor& x) {
    const bool padded = padding.defined();
    return std::get<0>(multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias,
                                            proj_weight, proj_bias, padded ? padding : mask, false,
                                            true, padded ? kPaddingMask : mask_type));
  };
  const auto feed_forward = [&](const Tensor& x) {
    const Tensor hidden = at::linear(x, ffn_weight_1, ffn_bias_1);
    return at::linear(use_gelu ? at::gelu(hidden) : at::relu(hidden), ffn_weight_2, ffn_bias_2);
  };
  const auto first_norm = [&](const Tensor& x) {
    return at::layer_norm(x, {embed_dim}, norm_weight_1, norm_bias_1, epsilon);
  };
  const auto second_norm = [&](const Tensor& x) {
    return at::layer_norm(x, {embed_dim}, norm_weight_2, norm_bias_2, epsilon);
  };
  if (norm_first) {
    const Tensor attended = source + attend(first_norm(source));
    return with_padding(attended + feed_forward(second_norm(attended)), padding);
  }
  const Tensor attended = first_norm(source + attend(source));
  return with_padding(second_norm(attended + feed_forward(attended)), padding);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_native_multi_head_attention", multi_head_attention);
  m.impl("_transformer_encoder_layer_fwd", encoder_layer);
}

}  // namespace neuron_sim
