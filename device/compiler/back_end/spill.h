#pragma once
// Spilling: tiles for which SBUF or PSUM has no room leave the chip between two of their uses.
//
// Known: the profiles of the vendor's compiler count bytes that are saved to HBM and reloaded
// (spill_save_bytes, spill_reload_bytes), and public compiler logs name a pass SpillPSum. Which
// tiles leave, and when, is not known. Assumed: the tile whose next use is farthest away leaves
// (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
// Journal 5(2), 1966), which gives the bytes of NKIBench's mamba; its matmul and lora on the chip
// reload nearly all tiles of arrays that have room for most. Of a tile that was only loaded from
// tensors that nothing writes, or set to a number, the instructions are repeated instead: so a tile
// that is set long before its first real use takes no room until then.

#include <cstdint>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Keeps the SBUF tiles that are live at any instance within `room` bytes per partition, as far as
/// its own operands leave a choice; 0: no tile stays from one instance to the next. Tiles that were
/// `placed` stay and count. A tile is saved to its own scratch tensor in HBM right after its last
/// use, only what was written since it was saved last, and reloaded right before its next use into
/// a new tile. Counted in line.spills.
void spill_sbuf(StraightLine& line, int64_t room);

/// Spills PSUM tiles of at most `room` bytes per partition: they are copied to tiles in SBUF and
/// back, because DMA does not reach PSUM. Instances that only read such a tile, and may read it in
/// SBUF, do.
void spill_psum(StraightLine& line, int64_t room);

}  // namespace neuron_sim
