#pragma once
// split_sums: the products of a sum become a separate loop nest.
//
// Known (statement names in the four public attention traces, neuronx-cc 2.23): the loop over query
// tiles is split before and after the products with the transposed values, and the two loops of
// that nest are exchanged, 16 of 16 sums; the scheduler then finishes one sum before it starts the
// next, so only the split remains visible. Nests with loads between the products are not in the
// traces; they are unchanged, as are loops with more sums than there are banks
// (batch_narrow_operations.h).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Splits loops around inner loops of only products that add to PSUM (batch_statements.h): first
/// all that comes before, for all iterations, then the sums, then what follows. Only when the banks
/// of PSUM hold all sums.
void split_sums(StraightLine& line);

}  // namespace neuron_sim
