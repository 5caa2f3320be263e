#pragma once
// reuse_loads: bytes of HBM that an earlier load brought to SBUF are not loaded again.
//
// Known: LICM is among the compiler's passes (names in its public logs). The compiled programs of a
// convolution on trn1 (waahm7/asst4-trainium at 0243a24, part2/file_pool_1_*.neff), whose second
// loop loads 222 tiles again, keep as many as SBUF holds, 39 in float32 and 89 in float16, and load
// the others again ("Remat_all"). They keep the first and the last tiles; this pass keeps the first
// ones.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes loads into tiles that nothing else writes when an instance of the same statement
/// or another one loaded the same elements of a tensor that the kernel never writes into a tile of
/// the same layout. The tile stays alive in between, as far as `room` bytes per partition hold it
/// (kept_tiles.h).
void reuse_loads(StraightLine& line, int64_t room, bool loads_in_time = false);

}  // namespace neuron_sim
