#pragma once
// eliminate_copies: readers of a copy within SBUF read what it was copied from.
//
// Known: MemcpyElimination is among the compiler's passes (names in its public logs). In the
// compiled program of a convolution on generation 2 (ewang675/asst4-trainium at 16517553,
// part2/file_pool_1_float16.neff, debug_info) that copies two rows of a window for each of its
// 3,996 products, from a tile that is itself copied row by row, none of these 9,768 copies is left:
// the products read windows of two rows in the tile that was loaded. Copies of single elements that
// lie apart are left there and in others (sahiljain01/asst4-trainium at bc167552, statement 36):
// only copies of rows, whose innermost elements are side by side on both sides, disappear. Copies
// to other partitions stay: of the three copies per iteration of NKIBench's rope_single_freq_apply
// its profile has the two that move 64 partitions (sbuf_read_bytes beyond the stores: 2 rows of 2
// KiB).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes tensor_copy statements within SBUF that fill tiles alone, one or several copies per
/// tile, from the same partitions with the same dtype, when every reader of these tiles can read
/// the source through an access pattern of its own: the instruction's check accepts it, all
/// elements are in one tile, nothing writes them after they are copied, and the runs of a transfer
/// do not become shorter. Readers keep the sizes of their dimensions; products and copies, to which
/// only the order of the elements matters, may have one split in two. For each set of statements
/// all instances disappear or none. Copies that were moved out of their loop (hoist_invariants.h)
/// stay. Needs single-assignment versions (rename_buffers.h). O(elements read from the copies).
void eliminate_copies(StraightLine& line);

}  // namespace neuron_sim
