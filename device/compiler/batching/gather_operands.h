#pragma once
// gather_operands: operands that the PE array would read in pieces are copied side by side first.
//
// Known (debug_info and instructions of the compiled programs of two convolutions on generation 2,
// ewang675/asst4-trainium at 16517553 and waahm7/asst4-trainium at 50f26140, part2/*.neff,
// neuronx-cc of about 2.15 and 2.18): weights that lie 9 elements apart are copied to a tile of
// their own before the products that load them, on Scalar or Vector, in each iteration of the loops
// around them, no matter that they are the same in each; a copy takes what the innermost loop
// loads, at most 512 elements (3 matrices of 128 columns; 6 as 4 and 2). The same before
// transposes. In float32 a window of several rows is copied before the product that streams it, in
// float16 it is read where it lies. Kernels that skip the middle end have none of these copies
// (chengli2003/asst4-trainium2 at a57e57b1, generation 3).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Before products and transposes on the PE array: copies stationary operands whose elements lie
/// too far apart for fast weight loads (Step::strided), and moving operands of 4 bytes per element
/// that are not one run, to new tiles in SBUF. Operands of the instances of one statement in one
/// run of the innermost loop share copies of at most kBatchElements elements, when they follow each
/// other at a constant distance in one tile that nothing writes in between. Needs single-assignment
/// versions (rename_buffers.h).
void gather_operands(StraightLine& line);

}  // namespace neuron_sim
