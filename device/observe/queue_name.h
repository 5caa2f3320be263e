#pragma once
// DMA queues under the names of the vendor's profiler.

#include <string>

#include "device/program/program.h"

namespace neuron_sim {

/// DMA queues of an engine, which the vendor's profiler tells apart by who makes the descriptors
/// and, of those that the compiler makes, by what they move.
enum class QueueKind : uint8_t {
  kIO,               ///< compiler: arguments of the kernel
  kSpillReload,      ///< compiler: everything else
  kHardwareDynamic,  ///< descriptor generation engine
  kSoftwareDynamic,  ///< GpSimd
};

/// The kind of queue that a DMA instruction uses.
QueueKind queue_kind(const Program& program, const Instruction& instruction);
/// "qSyncIO0", "qSyncSpillReload0", "qSyncDynamicHW", "qGpSimdDynamic": as the vendor's performance
/// guide, profile schema and course handouts show them. The model has one queue of each kind.
std::string queue_name(EngineKind engine, QueueKind kind);

}  // namespace neuron_sim
