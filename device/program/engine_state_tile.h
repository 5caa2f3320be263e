#pragma once
// The tiles that every program has: the state of its engines between instructions.

#include "device/operand/engine_state.h"
#include "device/program/program.h"

namespace neuron_sim {

/// The tile of a state on that architecture: all its partitions.
Tile engine_state_tile(EngineState state, const Architecture& architecture);

}  // namespace neuron_sim
