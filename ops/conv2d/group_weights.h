#pragma once
// The weights of groups that share the PE array: zero for the channels of other groups.

#include "device/builder/builder.h"

namespace neuron_sim {

/// SBUF [filters, groups] of integers as wide as `dtype`, loaded from HBM by `queue`: all bits set
/// where the filter (there are `group_filters` in each group) belongs to the group.
View load_group_mask(Builder& builder, int64_t groups, int64_t group_filters, Dtype dtype,
                     EngineKind queue = EngineKind::kScalar);

/// target [filters, groups * channels, KH, KW] = dense [filters, channels, KH, KW] for the channels
/// of the filter's own group, else 0, in one instruction. Bits are masked, not multiplied, so that
/// infinities stay in their group. `mask` is [filters, groups] of load_group_mask.
void spread_groups(Builder& builder, const View& target, const View& dense, const View& mask);

}  // namespace neuron_sim
