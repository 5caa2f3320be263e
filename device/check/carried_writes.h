#pragma once
// Parallel loops whose iterations hand a tile on to each other, however well that ends in order.

#include <cstdint>
#include <string>
#include <vector>

#include "device/check/iterations.h"
#include "device/program/program.h"

namespace neuron_sim {

/// `instruction` writes bytes of a tile made outside of a parallel loop, which the loop's body read
/// before and which are the same in every iteration.
struct CarriedWrite {
  uint32_t instruction = 0;
  std::string tile;
  std::string loop;  ///< its line
};

/// Those of tiles on chip, each instruction once. Unlike Rule::kCarriedValue these include sums
/// that one instruction continues. Not of unrolled loops.
std::vector<CarriedWrite> carried_writes(const Program& program,
                                         const std::vector<IterationMark>& marks);

}  // namespace neuron_sim
