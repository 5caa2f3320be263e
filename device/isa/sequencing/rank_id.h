#pragma once
// Registers that hold the number of a rank.

#include <memory>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// register[dst] of the sequencer of `engine` = the number of the rank that runs the program, from
/// 0 on. EngineKind::kAuto is Sync.
struct RankId {
  int64_t dst = 0;
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

/// register[dst] = whose data a rank has after `iteration` steps of a ring of collective permutes:
/// the place in the list of its group, counted backwards from its own, of the rank that the data
/// came from (that places count, not ranks, is assumed; they are equal in a group 0, 1, 2, ...).
/// 0 on a rank that is in no group. All channels turn the same way (assumed).
struct ProcessingRankId {
  int64_t dst = 0;
  std::shared_ptr<const ReplicaGroups> groups;
  int64_t iteration = 0;
  int64_t channel = 0;
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kRankId, kProcessingRankId;

}  // namespace neuron_sim
