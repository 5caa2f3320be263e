#pragma once
// rename_buffers: every tile instance on chip gets its own place.
//
// Known (addresses of the four public attention traces, neuronx-cc 2.23): SBUF is never reused
// while it lasts, a tile that a loop writes again and again has as many addresses as it has
// instances.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Gives each version of every tile in SBUF and PSUM its own tile, at the address of the first
/// until it is allocated (allocate.h, schedule.h). A write begins a new version when it overlaps
/// what the current one holds and nothing written before it is read afterwards; so a sum in PSUM is
/// one version, and a tile that is filled piece by piece is one. Instructions that read what they
/// write stay in their version.
///
/// Tiles placed by hand, `undefined` ones (read before they are written, definedness.h) and all
/// that share bytes with such tiles keep their place: they are marked `placed`. With `moves_all`,
/// for programs whose own places no chip has, undefined tiles keep one version but not their place.
void rename_buffers(StraightLine& line, const std::vector<TileId>& undefined,
                    bool moves_all = false);

}  // namespace neuron_sim
