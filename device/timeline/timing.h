#pragma once
// What the timeline says about one run of a Program.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/arch/architecture.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// One core of a program.
struct CoreTiming {
  Picoseconds end{};      ///< its last completion
  Picoseconds waiting{};  ///< engines and queues stood at core_barrier, sendrecv for the other core
  Picoseconds dma_busy{};                            ///< summed over its DMA engines
  std::array<Picoseconds, kEngineCount> busy{};      ///< engine occupied, by EngineKind
  std::array<int64_t, kEngineCount> instructions{};  ///< instances, by EngineKind (DMA: trigger)
};

/// Simulated time of one run, from the first user instruction to the last completion of any core.
/// All other figures are sums over the cores; shares are of all of them.
struct Timing {
  Picoseconds body{};
  std::array<Picoseconds, kEngineCount> busy{};      ///< engine occupied, by EngineKind
  std::array<int64_t, kEngineCount> instructions{};  ///< instances, by EngineKind (DMA: trigger)
  Picoseconds dma_busy{};                            ///< summed over the DMA engines
  int64_t dma_engines = 0;
  int64_t dma_transfers = 0;
  int64_t dma_bytes = 0;
  int64_t instances = 0;
  int64_t skipped_instances = 0;      ///< of those, added as steady iterations
  int64_t widened_accesses = 0;       ///< history entries made coarser
  int64_t multiply_accumulates = 0;   ///< of nc_matmul
  bool software_descriptors = false;  ///< GpSimd generates descriptors of a DMA
  std::vector<CoreTiming> cores;      ///< by core of the program

  /// As the vendor's benchmark reports it (nc_latency).
  Picoseconds benchmark(const Architecture& architecture) const {
    const LaunchTiming& launch = architecture.launch;
    return body + launch.benchmark +
           (software_descriptors ? launch.benchmark_software : Picoseconds{});
  }
  /// As the vendor's profiler reports it (total_time).
  Picoseconds profile(const Architecture& architecture) const {
    return body + architecture.launch.profile;
  }
  /// The same of a first execution, which takes longer on two cores.
  Picoseconds first_profile(const Architecture& architecture) const {
    return profile(architecture) +
           (cores.size() > 1 ? architecture.launch.second_core : Picoseconds{});
  }
  /// Adds the timing of a core that ran beside those so far.
  void add_core(const Timing& core);
  /// Busy share of an engine, 0 to 1; of two cores their mean.
  double utilisation(EngineKind engine) const;
  /// Busy share of the DMA engines, 0 to 1.
  double dma_utilisation() const;
  /// The busiest of the engines and "DMA"; "latency" when none is busy half of the time.
  std::string bottleneck() const;
};

}  // namespace neuron_sim
