#pragma once
// Weights of a convolution of small groups as weights of larger ones.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// How many groups of `channels` inputs and `filters` outputs share the PE array as one, a divisor
/// of `groups`; empty where each would leave half of the array unused that more could fill.
std::optional<int64_t> shared_groups(const Limits& limits, int64_t groups, int64_t channels,
                                     int64_t filters);

/// `weight` [groups * filters, channels, KH, KW] as [groups * filters, shared * channels, KH, KW],
/// for groups / shared groups: zeros between groups that share the array. For constants of a graph,
/// which are made before its runs; other convolutions do it on chip in each call.
at::Tensor spread_weight(const at::Tensor& weight, int64_t groups, int64_t shared);

}  // namespace neuron_sim
