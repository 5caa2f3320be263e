#pragma once
// share_constants: tiles that hold the same constant are one tile.
//
// Known (the four public attention traces, neuronx-cc 2.23): all transposes of a kernel read one
// identity per dtype, which is loaded once; nowhere is a constant set again. That the same holds
// for tiles that a memset makes is inferred.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes a memset of an SBUF tile that nothing else writes when an earlier one, of any statement,
/// made an equal tile: its readers read that one. Tiles placed by hand stay. Needs
/// single-assignment versions (rename_buffers.h).
void share_constants(StraightLine& line);

}  // namespace neuron_sim
