#pragma once
// A run by source lines: how much of its time, its bytes and its products belong to each.

#include <map>
#include <string>
#include <vector>

#include "device/observe/recording.h"

namespace neuron_sim {

/// The instructions of one source line (of a compiled graph: of one layer) in a run.
struct SourceShare {
  std::string source;  ///< empty: of the instructions without one
  /// Their part of the critical path by what it is spent on (spent_on()). The parts of all sources
  /// sum to the body.
  std::map<std::string, Picoseconds> path;
  int64_t instances = 0;  ///< of instructions
  int64_t dma_bytes = 0;
  int64_t hbm_bytes = 0;             ///< their operands there, read and written
  int64_t multiply_accumulates = 0;  ///< of products, not of transposes
};

/// By first instance in the run.
std::vector<SourceShare> shares_by_source(const Recording& recording);

}  // namespace neuron_sim
