#include "csrc/aten/products/attention_parts.h"

#include <algorithm>
#include <cmath>

#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

constexpr int64_t kTileRows = 128;  // a part is cut at whole tiles of rows

}  // namespace

double attention_scale(const at::Tensor& query, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
}

AttentionSizes attention_sizes(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value) {
  return {query.size(1) / key.size(1),  query.size(2), key.size(2), query.size(3), value.size(3),
          dtype_of(query.scalar_type())};
}

AttentionPart first_part(const AttentionSizes& whole,
                         c10::function_ref<bool(const AttentionSizes&)> fits) {
  AttentionSizes sizes = whole;
  while (!fits(sizes)) {
    const int64_t length = std::max(sizes.queries, sizes.keys);
    if (sizes.members > 1) {
      do --sizes.members;
      while (whole.members % sizes.members != 0);
    } else {
      TORCH_CHECK(length > kTileRows, "neuron_sim: attention: ", kTileRows, " rows of ",
                  sizes.depth, " and ", sizes.width, " elements do not fit SBUF");
      const int64_t half = (length / 2 + kTileRows - 1) / kTileRows * kTileRows;
      sizes.queries = std::min(sizes.queries, half);
      sizes.keys = std::min(sizes.keys, half);
    }
  }
  return {0, sizes.members, 0, sizes.queries, 0, sizes.keys, false};
}

bool is_whole(const AttentionSizes& whole, const AttentionPart& part) {
  return part.members == whole.members && part.queries == whole.queries && part.keys == whole.keys;
}

void for_parts(const AttentionSizes& whole, const AttentionPart& first, bool causal,
               c10::function_ref<void(const AttentionPart&)> body) {
  AttentionPart part = first;
  for (part.member = 0; part.member < whole.members; part.member += first.members) {
    for (part.query = 0; part.query < whole.queries; part.query += first.queries) {
      part.queries = std::min(first.queries, whole.queries - part.query);
      for (part.key = 0; part.key < whole.keys; part.key += first.keys) {
        if (causal && part.key >= part.query + part.queries) break;
        part.keys = std::min(first.keys, whole.keys - part.key);
        part.causal = causal && part.key + part.keys > part.query;
        body(part);
      }
    }
  }
}

at::Tensor by_key_heads(const at::Tensor& tensor, int64_t key_heads) {
  return tensor.unflatten(1, {key_heads, tensor.size(1) / key_heads});
}

at::Tensor queries_of(const at::Tensor& grouped, const AttentionPart& part) {
  return grouped.narrow(2, part.member, part.members).narrow(3, part.query, part.queries);
}

at::Tensor keys_of(const at::Tensor& grouped, const AttentionPart& part) {
  return grouped.narrow(3, part.key, part.keys);
}

AttentionOperands attention_operands(const at::Tensor& query, const at::Tensor& key,
                                     const at::Tensor& value,
                                     const std::optional<at::Tensor>& bias) {
  const int64_t key_heads = key.size(1);
  AttentionOperands result{by_key_heads(query, key_heads),
                           by_key_heads(key, key_heads),
                           by_key_heads(value, key_heads),
                           {}};
  if (is_given(bias)) {
    const at::DimVector scores{query.size(0), query.size(1), query.size(2), key.size(2)};
    result.bias = by_key_heads(bias->expand(scores), key_heads);
  }
  return result;
}

AttentionOperands operands_of(const AttentionOperands& all, const AttentionPart& part) {
  AttentionOperands result{
      queries_of(all.query, part), keys_of(all.key, part), keys_of(all.value, part), {}};
  if (all.bias.defined()) {
    result.bias = queries_of(all.bias, part).narrow(4, part.key, part.keys);
  }
  return result;
}

}  // namespace neuron_sim
