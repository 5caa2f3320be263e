#pragma once
// A collective of all ranks 0..n-1 as a kernel, for programs that time one rank of a group.
//
// Roofline: device/timeline/collective_time.h.

#include <array>

#include "device/isa/dma/collective.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct GroupCollectiveOptions {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int64_t ranks = 1;
  static constexpr std::array kFields{"kind", "ranks"};
};

/// The result = the operand of all ranks summed (kAllReduce), one after the other (kAllGather), or
/// this rank's part of the sum (kReduceScatter). Dense tensors of one dtype, taken as flat rows;
/// the result may be the operand. KernelError for sizes that do not fit the number of ranks.
void emit_group_collective(Builder& builder, HbmTensors operands, HbmTensors results,
                           const GroupCollectiveOptions& options);
inline constexpr KernelDefinition<GroupCollectiveOptions> kGroupCollective{
    .name = "group_collective", .emit = emit_group_collective};

}  // namespace neuron_sim
