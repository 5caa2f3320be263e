#include "device/program/engine_state_tile.h"

namespace neuron_sim {

Tile engine_state_tile(EngineState state, const Architecture& architecture) {
  const View whole = engine_state(state, architecture.limits.partitions);
  Tile tile;
  tile.label = whole.label();
  tile.memory = whole.memory();
  tile.dtype = whole.dtype();
  tile.partitions = static_cast<int32_t>(whole.partitions());
  tile.address = engine_state_address(state);
  tile.bytes = whole.free_elements() * itemsize(whole.dtype());
  return tile;
}

}  // namespace neuron_sim
