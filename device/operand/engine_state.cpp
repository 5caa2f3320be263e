#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

struct Layout {
  const char* label;
  MemoryKind memory;
  Dtype dtype;
  int64_t address;   // first byte within each partition
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

int64_t engine_state_address(EngineState state) { return layout(state).address; }

}  // namespace neuron_sim
