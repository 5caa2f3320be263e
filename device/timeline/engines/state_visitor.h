#pragma once
// How the timeline's parts show their state, so that a loop can be recognised as steady.

#include <cstdint>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

/// Collects pointers to all times of the state, and everything else as numbers.
struct StateVisitor {
  std::vector<Picoseconds*> times;
  std::vector<int64_t> structure;

  void time(Picoseconds& value) { times.push_back(&value); }
  void other(int64_t value) { structure.push_back(value); }
  void clear() {
    times.clear();
    structure.clear();
  }
};

}  // namespace neuron_sim
