#pragma once
// Tiles in SBUF that outer loops fill again with the same contents.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Loop-invariant code motion out of outer loops: removes what fills a tile of SBUF again with what
/// one line of the source (one statement, where there are no lines) computed before from the same
/// inputs, loads included; the readers read the earlier tile. It must still hold that: a
/// statement whose tile the loops in between fill with other contents is not moved, because that
/// would take a larger tile than the kernel declares. SBUF must hold the tiles that live longer, or
/// the line must be one that spills in any case and the loads that disappear bring at least the
/// tile's bytes: the tile is then reloaded instead. Needs single-assignment versions
/// (rename_buffers.h).
void keep_invariant_tiles(StraightLine& line);

}  // namespace neuron_sim
