#pragma once
// Quantities of a recording over time.

#include <string>
#include <vector>

#include "device/observe/recording.h"

namespace neuron_sim {

/// A value from `time` until the next sample.
struct CounterSample {
  Picoseconds time{};
  double value = 0;
};

/// A step function; it begins at 0. Times rise from sample to sample.
struct Counter {
  uint8_t core = 0;
  std::string name;
  std::string unit;
  std::vector<CounterSample> samples;
};

/// Per core: "pending DMA" (triggered, not complete), "DMA throughput" (GB/s; each part of a DMA
/// engine counts evenly over its time), "SBUF" and "PSUM" (bytes of tiles that live).
std::vector<Counter> counters_over_time(const Recording& recording);

}  // namespace neuron_sim
