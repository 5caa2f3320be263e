#include "csrc/aten/convolution/group_weights.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

namespace neuron_sim {

std::optional<int64_t> shared_groups(const Limits& limits, int64_t groups, int64_t channels,
                                     int64_t filters) {
  const int64_t most = std::clamp<int64_t>(
      std::min(limits.partitions / channels, limits.stationary_free / filters), 1, groups);
  int64_t shared = most;
  while (groups % shared != 0) --shared;
  if (2 * shared <= most) return std::nullopt;
  return shared;
}

at::Tensor spread_weight(const at::Tensor& weight, int64_t groups, int64_t shared) {
  const int64_t channels = weight.size(1), filters = weight.size(0) / groups;
  const int64_t height = weight.size(2), width = weight.size(3), sets = groups / shared;
  const at::Tensor spread =
      at::zeros({sets, shared, filters, shared, channels, height, width}, weight.options());
  // [sets, filters, channels, KH, KW, shared]
  spread.diagonal(0, 1, 3).copy_(
      weight.view({sets, shared, filters, channels, height, width}).permute({0, 2, 3, 4, 5, 1}));
  return spread.view({weight.size(0), shared * channels, height, width});
}

}  // namespace neuron_sim
