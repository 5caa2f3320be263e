#pragma once
// reuse_loads: bytes of HBM that an earlier load brought to SBUF are not loaded again.
//
// Known: LICM is among the compiler's passes (names in its public logs). How far it goes is
// inferred from totals of matrix products with the whole compiler: those in bfloat16 of 5,000
// instances take four times as long as measured when tiles are not kept over outer loops. Which
// programs keep them so far is a hypothesis (the setting reuse_instances).

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Removes loads into tiles that nothing else writes when an instance of the same statement loaded
/// the same elements of a tensor that the kernel never writes into a tile of the same layout, and
/// the loops in which the two differ are among the `reuse_loops` innermost ones (0: any
/// loops, and loads of other statements as well). The tile stays alive in between: all loads of a
/// statement are removed, as far out as SBUF holds the tiles in program order, or none.
void reuse_loads(StraightLine& line, const PassSettings& settings);

}  // namespace neuron_sim
