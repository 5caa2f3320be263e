#pragma once
// Attention of heads that do not fit one kernel, piece by piece.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <optional>

#include "ops/attention/attention.h"

namespace neuron_sim {

/// Members of a key head, rows of queries and keys that one launch takes.
struct AttentionPart {
  int64_t member = 0, members = 0;
  int64_t query = 0, queries = 0;
  int64_t key = 0, keys = 0;
  bool causal = false;  ///< the diagonal of a causal mask runs through the part
};

/// The scale of scores: given, or 1 / sqrt(depth).
double attention_scale(const at::Tensor& query, std::optional<double> scale);
inline bool is_given(const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->defined();
}

/// Shapes of [N, heads, length, width] operands.
AttentionSizes attention_sizes(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value);

/// The part of `whole` that is at the origin, as large as `fits`: as few members as necessary, then
/// shorter queries and keys. Pieces of queries and keys of a divided length are equally long, so
/// that a diagonal begins in their corners. TORCH_CHECK when nothing fits.
AttentionPart first_part(const AttentionSizes& whole,
                         c10::function_ref<bool(const AttentionSizes&)> fits);
/// Whether the part is the whole.
bool is_whole(const AttentionSizes& whole, const AttentionPart& part);
/// All parts like `first`, the keys of the same queries in succession; except parts above the
/// diagonal of a causal mask.
void for_parts(const AttentionSizes& whole, const AttentionPart& first, bool causal,
               c10::function_ref<void(const AttentionPart&)> body);

/// [N, key heads, members, length, width] of a tensor [N, heads, length, width].
at::Tensor by_key_heads(const at::Tensor& tensor, int64_t key_heads);
/// The members and rows of a part, of a grouped tensor of query heads (any with a length).
at::Tensor queries_of(const at::Tensor& grouped, const AttentionPart& part);
/// The keys of a part, of a grouped tensor of key heads.
at::Tensor keys_of(const at::Tensor& grouped, const AttentionPart& part);

/// Tensors by key heads and members; bias, of all scores, may be undefined.
struct AttentionOperands {
  at::Tensor query, key, value, bias;
};
AttentionOperands attention_operands(const at::Tensor& query, const at::Tensor& key,
                                     const at::Tensor& value,
                                     const std::optional<at::Tensor>& bias);
/// The operands of a part.
AttentionOperands operands_of(const AttentionOperands& all, const AttentionPart& part);

}  // namespace neuron_sim
