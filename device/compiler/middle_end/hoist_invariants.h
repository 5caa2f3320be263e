#pragma once
// hoist_invariants: loop-invariant computations are done once, before the loop.
//
// Known: LICM is among the compiler's passes (names in its public logs). That it moves computations
// is inferred from totals of the selective scan on generation 2: its versions that keep the channel
// in the outer loop match without the product that depends only on the channel, the version with
// the channel in the inner loop matches with it.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes a computation when the instance of the same statement right before it computed the same:
/// equal operators, engine and operands, none of which was written in between. Its readers then
/// read the earlier result, which stays in SBUF. Transfers are not moved (reuse_loads.h), nor are
/// instructions that have state (random numbers, accumulators) or write to PSUM. Needs
/// single-assignment versions (rename_buffers.h).
void hoist_invariants(StraightLine& line);

}  // namespace neuron_sim
