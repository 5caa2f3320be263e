#pragma once
// core_barrier: the two cores of a logical core wait for each other.

#include <vector>

#include "device/instruction/fields.h"

namespace neuron_sim {

/// Both cores wait for each other: what either did to `data` in HBM before, both see afterwards.
///
/// `engine` of each core waits for that core's own accesses to `data`, writes a semaphore of the
/// other core and waits for the other core's; later accesses to `data` wait for it. The other
/// engines continue: tensors that `data` does not cover are not ordered. The n-th synchronisation
/// of core 0 meets the n-th of core 1, with the same tensor, else the kernel deadlocks
/// (KernelError). `data` may also be a tile in SBUF, of one shape on both cores: it orders each
/// core's accesses to its own tile (nki-library synchronises on the number of a block in SBUF:
/// core/moe/moe_cte/bwmm_shard_on_I.py). `cores` is {0, 1}. From NeuronCore-v3 on, with LNC2.
/// EngineKind::kAuto is GpSimd. Moves no bytes. Its time is assumed (Architecture::peer).
struct CoreBarrier {
  View data;
  std::vector<int64_t> cores{0, 1};
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kData };
  enum AttributeIndex { kCores };
  static constexpr auto fields() {
    using T = CoreBarrier;
    return std::tuple{operand<kData>("data", Direction::kReadWrite, &T::data),
                      parameter("cores", &T::cores), engine_of(&T::engine),
                      hidden_attribute<kCores>("cores", AttributeKind::kInteger)};
  }
  Draft draft() const;
};

extern const InstructionType kCoreBarrier;

}  // namespace neuron_sim
