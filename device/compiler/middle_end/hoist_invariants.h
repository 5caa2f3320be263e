#pragma once
// hoist_invariants: loop-invariant computations are done once, before the loop.
//
// Known: LICM is among the compiler's passes (names in its public logs). That it moves computations
// is inferred from totals of the selective scan on generation 2: its versions that keep the channel
// in the outer loop match without the product that depends only on the channel, the version with
// the channel in the inner loop matches with it. That it moves them out of outer loops, loads
// included, show counters of the vendor's profiles of three kernels of NKIBench
// (zhang677/AccelOpt at 47e29a7c, profile_results.csv): lora has 5,632 of its 19,712 transposes and
// reads each input once per statement, although what is kept exceeds SBUF; add_rmsnorm_matmul has 2
// of its 64 broadcasts of a row, but all 1,024 transposes of one tile; mamba reads and writes
// exactly the bytes (181,682,176 and 62,390,272) of 2 of its 32 products of channel and time.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes a computation when the instance of the same statement right before it computed the same:
/// equal operators, engine and operands, none of which was written in between. Its readers then
/// read the earlier result, which stays in SBUF. Loads alone are not moved (reuse_loads.h), nor are
/// instructions that have state (random numbers, accumulators) or write to PSUM. Then the same for
/// tiles that outer loops fill again (invariant_tiles.h). Needs single-assignment versions
/// (rename_buffers.h).
void hoist_invariants(StraightLine& line);

}  // namespace neuron_sim
