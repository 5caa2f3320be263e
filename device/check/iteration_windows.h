#pragma once
// Tiles of which no two iterations of a parallel loop share a byte, without a walk over them.

#include <vector>

#include "device/check/iterations.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Per tile: whether it lies in SBUF and cannot break the order of parallel iterations. In each
/// parallel loop that writes it, all accesses move by the same number of bytes from one iteration
/// to the next, and together span no more than that. Sufficient, not necessary: addresses that
/// depend on other loops, on registers or on rings are not looked at, nor are unrolled loops.
/// (A grid needs no proof: SBUF belongs to one of its instances.)
std::vector<bool> tiles_apart(const Program& program, const std::vector<IterationMark>& marks);

}  // namespace neuron_sim
