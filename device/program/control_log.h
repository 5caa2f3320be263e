#pragma once
// The decisions of a run of a data-dependent Program: trip counts, register values, skipped rows.
// The timeline reads it instead of the memories.

#include <cstdint>
#include <vector>

namespace neuron_sim {

/// In the order of the walk. Empty for programs whose time does not depend on data.
struct ControlLog {
  std::vector<int64_t> values;
  bool operator==(const ControlLog&) const = default;
};

}  // namespace neuron_sim
