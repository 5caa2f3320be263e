#pragma once
// Reads of tile bytes that nothing wrote: a property of the Program, like its time.

#include <string>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A read of bytes that no earlier instruction wrote.
struct UndefinedRead {
  uint32_t instruction;
  int operand;
  TileId tile;
};

/// First undefined read of every on-chip tile, in program order. Register loops are taken to run
/// once, accesses at a register address to touch only bytes that are or become defined. HBM
/// tensors are the caller's and count as written.
std::vector<UndefinedRead> undefined_reads(const Program& program);

/// The tiles of SBUF and PSUM and the scratch tensors of which a run may read bytes before it
/// writes them, ascending. A write counts only where no data decides about it: not in a loop on a
/// register, at a register address, at rows of an index, or where accesses out of bounds are
/// skipped; what data decides to read is taken to be the whole tile.
std::vector<TileId> possibly_undefined_tiles(const Program& program);

/// One sentence: instruction, operand, tile and source line.
std::string describe(const Program& program, const UndefinedRead& read);

}  // namespace neuron_sim
