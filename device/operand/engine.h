#pragma once
// The instruction streams of a NeuronCore.

#include <cstdint>

namespace neuron_sim {

/// Engines with a separate instruction stream. kAuto lets the instruction choose.
enum class EngineKind : uint8_t { kTensor, kVector, kScalar, kGpSimd, kSync, kAuto };
inline constexpr int kEngineCount = 5;

/// Completes work: an engine or the DMA queue that an engine triggers (kEngineCount + engine).
using Slot = uint8_t;
inline constexpr int kSlotCount = 2 * kEngineCount;
constexpr Slot slot_of(EngineKind engine) { return static_cast<Slot>(engine); }
constexpr Slot queue_of(EngineKind engine) {
  return static_cast<Slot>(static_cast<int>(engine) + kEngineCount);
}
constexpr bool is_queue(Slot slot) { return slot >= kEngineCount; }
constexpr EngineKind engine_of(Slot slot) { return static_cast<EngineKind>(slot % kEngineCount); }

/// "Tensor", "Vector", "Scalar", "GpSimd", "Sync".
const char* name(EngineKind engine);

}  // namespace neuron_sim
