#pragma once
// Facts of an architecture that change together, under one name: "tensor.clock" is the clock of the
// Tensor engine, warm and cold.

#include <span>
#include <string_view>
#include <vector>

namespace neuron_sim {

/// One name for the facts that change together.
struct FactGroup {
  std::string_view name;               ///< "hbm.bandwidth"; never the key of a fact
  std::vector<std::string_view> keys;  ///< of the facts
};

/// All groups, by name.
std::span<const FactGroup> fact_groups();

}  // namespace neuron_sim
