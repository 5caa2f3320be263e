#pragma once
// reuse_loads: bytes of HBM that an earlier load brought to SBUF are not loaded again.
//
// Known: LICM is among the compiler's passes (names in its public logs). How far it goes is
// inferred from totals of matrix products with the whole compiler: those in bfloat16 of 5,000
// instances take four times as long as measured when tiles are not kept over outer loops.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes loads into tiles that nothing else writes when an instance of the same statement
/// or another one loaded the same elements of a tensor that the kernel never writes into a tile of
/// the same layout. The tile stays alive in between: all loads of a statement are removed, over as
/// many loops as `room` bytes per partition hold the live tiles in program order, or none
/// (kept_tiles.h).
void reuse_loads(StraightLine& line, int64_t room);

}  // namespace neuron_sim
