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

/// One sentence: instruction, operand, tile and source line.
std::string describe(const Program& program, const UndefinedRead& read);

}  // namespace neuron_sim
