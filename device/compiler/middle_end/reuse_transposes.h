#pragma once
// reuse_transposes: what the PE array transposed and a copy brought to SBUF is not transposed again
// while it is unchanged.
//
// Known: LICM is among the compiler's passes (names in its public logs). That transposes leave all
// loops, not only the innermost one as other computations do (hoist_invariants.h), is inferred from
// a convolution on generation 2 with nl.matmul, which transposes its first operand on the PE array
// (robertpare17/asst4-trainium): its 3,996 products of 444 columns in float32 take 2.9 ms of 3.68
// ms at the array's rates, which leaves no time for 3,996 transposes, of which 36 differ. Other
// products are computed again: of the selective scan on generation 2, the version that broadcasts
// the same rows for every channel tile, by products with ones, takes the time of all of them.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes a transpose on the PE array and the copy of its result to SBUF when earlier instances,
/// of any iteration, did the same with the same elements, which nothing has written in between: its
/// readers read the earlier copy. Requires that both fill their tiles alone, that only the copy
/// reads the transposed tile, and that SBUF holds the kept tiles in program order (kept_tiles.h).
/// Needs single-assignment versions (rename_buffers.h).
void reuse_transposes(StraightLine& line);

}  // namespace neuron_sim
