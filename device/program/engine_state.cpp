#include "device/program/engine_state.h"

#include "device/program/program.h"

namespace neuron_sim {
namespace {

struct Layout {
  const char* label;
  MemoryKind memory;
  Dtype dtype;
  int64_t address;   // first byte within each partition of that memory
  int64_t elements;  // per partition
};

/// The addresses must not overlap: CoreMemory holds both states of a kind side by side.
const Layout& layout(EngineState state) {
  static constexpr Layout kLayouts[kEngineStateCount] = {
      {"accumulator", MemoryKind::kAccumulator, Dtype::kFloat32, 0, 1},
      {"vector_accumulator", MemoryKind::kAccumulator, Dtype::kFloat32, 4, 1},
      {"vector_random_state", MemoryKind::kRandomState, Dtype::kUint32, 0, 24},
      {"gpsimd_random_state", MemoryKind::kRandomState, Dtype::kUint32, 96, 6},
  };
  return kLayouts[static_cast<size_t>(state)];
}

}  // namespace

View engine_state(EngineState state, int64_t partitions) {
  const Layout& layout = neuron_sim::layout(state);
  return View(layout.memory, static_cast<TileId>(state), layout.dtype,
              {partitions, layout.elements}, {1, itemsize(layout.dtype)}, layout.label);
}

Tile engine_state_tile(EngineState state, const Architecture& architecture) {
  const Layout& layout = neuron_sim::layout(state);
  Tile tile;
  tile.label = layout.label;
  tile.memory = layout.memory;
  tile.dtype = layout.dtype;
  tile.partitions = static_cast<int32_t>(architecture.limits.partitions);
  tile.address = layout.address;
  tile.bytes = layout.elements * itemsize(layout.dtype);
  return tile;
}

}  // namespace neuron_sim
