// Sums, means and maxima of bags of rows. Bag numbers are int64 index arithmetic.

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/indexing/operands.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

void check_bags(const Tensor& weight, const Tensor& indices, bool sparse) {
  check_computable(weight.scalar_type());
  check_indices(indices);
  if (!weight.is_floating_point()) throw Refusal{"the device adds floating dtypes here"};
  if (sparse) throw Refusal{"the gradient is sparse"};
}

/// The bag of each index, and the size of each bag, int64 on the CPU.
struct Bags {
  Tensor bag, size;
};

Bags bags_of(const Tensor& indices, const Tensor& offsets, bool include_last, int64_t padding) {
  TORCH_CHECK(offsets.scalar_type() == at::kLong || offsets.scalar_type() == at::kInt,
              "embedding_bag: offsets have the dtype ", offsets.scalar_type(),
              ", expected Long or Int");
  const Tensor start = offsets.to(at::kCPU, at::kLong).contiguous();
  const Tensor named = indices.to(at::kCPU, at::kLong).contiguous();
  const int64_t count = start.numel() - static_cast<int64_t>(include_last);
  const auto whole = at::TensorOptions().dtype(at::kLong);
  Bags bags{at::empty({named.numel()}, whole), at::zeros({count}, whole)};
  const int64_t* const first = start.const_data_ptr<int64_t>();
  TORCH_CHECK(start.numel() == 0 || first[0] == 0,
              "offsets[0] has to be 0, i.e., the first sequence "
              "in the mini-batch has to start from position 0. However, got ",
              first[0]);
  const int64_t last = start.numel() == 0 ? 0 : first[start.numel() - 1];
  TORCH_CHECK(last <= named.numel(), "offsets[-1] can not be greater than input's length ",
              named.numel(), " but got offsets[-1] of ", last);
  TORCH_CHECK(std::is_sorted(first, first + start.numel()), "offsets must ascend, but are ", start);
  const bool whole_list = !include_last || first[count] == named.numel();
  if (!whole_list) throw Refusal{"the last offset is not the number of indices"};
  for (int64_t bag = 0; bag < count; ++bag) {
    const int64_t end = bag + 1 < start.numel() ? first[bag + 1] : named.numel();
    for (int64_t i = first[bag]; i < end; ++i) {
      bags.bag.data_ptr<int64_t>()[i] = bag;
      bags.size.data_ptr<int64_t>()[bag] += named.const_data_ptr<int64_t>()[i] != padding;
    }
  }
  return bags;
}

/// Factors of the rows [indices, 1]: weights of samples, 0 for padding; undefined for all 1.
Tensor factors(const Tensor& indices, const OptionalTensor& weights, int64_t padding) {
  Tensor result;
  if (weights && weights->defined()) result = weights->to(at::kFloat).view({-1, 1});
  if (padding < 0) return result;
  const Tensor counted = indices.ne(padding).to(at::kFloat).view({-1, 1});
  return result.defined() ? result * counted : counted;
}

/// Maxima of every bag and the rows that they came from; -1 for empty bags.
std::pair<Tensor, Tensor> maxima(const Tensor& weight, const Tensor& indices, const Bags& bags,
                                 int64_t padding) {
  const int64_t count = bags.size.numel();
  const int64_t longest = count == 0 ? 0 : bags.size.max().item<int64_t>();
  const Tensor named = indices.to(at::kCPU, at::kLong).contiguous();
  Tensor rows = at::full({count, std::max<int64_t>(longest, 1)}, -1, named.options());
  std::vector<int64_t> used(static_cast<size_t>(count), 0);
  for (int64_t i = 0; i < named.numel(); ++i) {
    const int64_t bag = bags.bag.const_data_ptr<int64_t>()[i];
    const int64_t row = named.const_data_ptr<int64_t>()[i];
    if (row == padding) continue;
    rows.data_ptr<int64_t>()[bag * rows.size(1) + used[static_cast<size_t>(bag)]++] = row;
  }
  rows = rows.to(weight.device());
  const Tensor values = weight.to(at::kFloat)
                            .index_select(0, rows.clamp(0).view(-1))
                            .view({count, rows.size(1), weight.size(1)})
                            .masked_fill(rows.lt(0).unsqueeze(-1), -INFINITY);
  const auto [largest, place] = values.max(1);
  const Tensor empty = bags.size.eq(0).to(weight.device()).view({-1, 1});
  return {largest.masked_fill(empty, 0), rows.gather(1, place)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool /*by_frequency*/,
    int64_t mode, bool sparse, const OptionalTensor& weights, bool include_last, int64_t padding) {
  check_bags(weight, indices, sparse);
  if (weights && weights->defined()) {
    TORCH_CHECK(weights->scalar_type() == weight.scalar_type(), "Expected tensor for argument #1 ",
                "'weight' to have the same type as tensor for argument #1 'per_sample_weights'; ",
                "but type ", weight.scalar_type(), " does not equal ", weights->scalar_type(),
                " (while checking arguments for embedding_bag)");
  }
  const c10::DeviceGuard guard(weight.device());
  check_bounds(indices, {weight.size(0), OutOfBounds::kBag});
  const Bags bags = bags_of(indices, offsets, include_last, padding);
  const Tensor bag = bags.bag.to(weight.device()), size = bags.size.to(weight.device());
  if (mode == kMax) {
    const auto [values, rows] = maxima(weight, indices, bags, padding);
    return {values.to(weight.scalar_type()), bag, size, rows};
  }
  Tensor rows = weight.index_select(0, indices).to(at::kFloat);
  if (const Tensor factor = factors(indices, weights, padding); factor.defined())
    rows = rows * factor;
  Tensor sums = at::zeros({size.numel(), weight.size(1)}, rows.options());
  if (rows.numel() > 0) sums = sums.index_add(0, bag, rows);
  if (mode == kMean) sums = sums / size.clamp(1).to(at::kFloat).view({-1, 1});
  return {sums.to(weight.scalar_type()), bag, size, at::empty({0}, bag.options())};
}

/// The gradient of the weights, in fp32 and rounded once.
Tensor embedding_bag_backward(const Tensor& gradient, const Tensor& indices,
                              const Tensor& /*offsets*/, const Tensor& bag, const Tensor& size,
                              const Tensor& largest, c10::SymInt rows, bool by_frequency,
                              int64_t mode, bool sparse, const OptionalTensor& weights,
                              int64_t padding) {
  check_bags(gradient, indices, sparse);
  if (by_frequency) throw Refusal{"the gradient is scaled by frequencies"};
  const c10::DeviceGuard guard(gradient.device());
  Tensor incoming = gradient.to(at::kFloat);
  const Tensor sums = at::zeros({rows.expect_int(), gradient.size(1)}, incoming.options());
  if (indices.numel() == 0) return sums.to(gradient.scalar_type());
  if (mode == kMax) {
    incoming = incoming.masked_fill(largest.lt(0), 0);
    return sums.scatter_add(0, largest.clamp(0), incoming).to(gradient.scalar_type());
  }
  if (mode == kMean) incoming = incoming / size.clamp(1).to(at::kFloat).view({-1, 1});
  Tensor parts = incoming.index_select(0, bag);
  if (const Tensor factor = factors(indices, weights, padding); factor.defined())
    parts = parts * factor;
  return sums.index_add(0, indices, parts).to(gradient.scalar_type());
}

Tensor sample_weights_backward(const Tensor& gradient, const Tensor& weight, const Tensor& indices,
                               const Tensor& /*offsets*/, const Tensor& bag, int64_t mode,
                               int64_t padding) {
  check_bags(gradient, indices, false);
  TORCH_CHECK(mode == kSum,
              "embedding_bag_backward: per_sample_weights only supported for "
              "mode='sum'");
  const c10::DeviceGuard guard(gradient.device());
  Tensor products =
      gradient.to(at::kFloat).index_select(0, bag) * weight.to(at::kFloat).index_select(0, indices);
  if (const Tensor factor = factors(indices, std::nullopt, padding); factor.defined()) {
    products = products * factor;
  }
  return products.sum(-1).to(gradient.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_embedding_bag", device_operator<embedding_bag>());
  m.impl("_embedding_bag_forward_only", device_operator<embedding_bag>());
  m.impl("_embedding_bag_backward", device_operator<embedding_bag_backward>());
  m.impl("_embedding_bag_per_sample_weights_backward", device_operator<sample_weights_backward>());
}

}  // namespace neuron_sim
