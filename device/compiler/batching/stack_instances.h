#pragma once
// One instruction in place of several instances of one statement.

#include <optional>

#include "device/compiler/line/instance_checks.h"
#include "device/compiler/tiles/tile_merges.h"

namespace neuron_sim {

/// Whether two instances are the same instruction with the same attributes on the same engine.
bool same_command(const StraightLine& line, const StraightInstruction& a,
                  const StraightInstruction& b);

/// The instances `members` (in order, of one statement) as one instruction whose operands have one
/// more free dimension, outermost: the member. Their operands must be alike and be evenly spaced in
/// one tile, or in different tiles, which are then merged (`psum`: those in PSUM too, within a
/// bank); a [P, 1] operand of another element's width must be the same for all. Empty when the
/// instruction's own check rejects it or the members cannot be combined. Keeps the statement and
/// loops of the first member; `merges` is left with pending merges.
std::optional<StraightInstruction> stack(StraightLine& line, std::span<const uint32_t> members,
                                         bool psum, TileMerges& merges, InstanceChecks& checks);

}  // namespace neuron_sim
