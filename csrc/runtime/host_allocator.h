#pragma once
// Pinned host memory.

namespace neuron_sim {

/// Whether `pointer` lies in memory of the pinned host allocator.
bool is_pinned(const void* pointer);

}  // namespace neuron_sim
