#pragma once
// fold_zeros: a sum in PSUM that is set to zero first starts with an overwriting product instead.
//
// Known (flags in the four public attention traces, neuronx-cc 2.23): nl.zeros followed by products
// that add leaves no memset, 16 of 16 groups.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes memsets of 0 to PSUM tiles when products add to all they wrote before anything reads it:
/// the first product of each location overwrites. Same bytes except for a sum whose first term is a
/// negative number too small for float32: -0 instead of 0. Tiles placed by hand stay.
void fold_zeros(StraightLine& line);

}  // namespace neuron_sim
