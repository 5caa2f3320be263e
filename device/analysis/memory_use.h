#pragma once
// What fills SBUF and PSUM over a program.

#include <string>

#include "device/program/program.h"

namespace neuron_sim {

/// A table for people: per memory its size, the most bytes per partition that are live at once and
/// where, then per tensor its tiles, their bytes per partition, the positions in the program order
/// from the first to the last use, and how many tiles are live at that place. Positions count
/// instructions, and beginnings and ends of loops, inside which tiles count as live throughout.
/// Tiles of one tensor with block dimensions, and versions of one tile, share a row. Last come the
/// spills, if any.
std::string memory_listing(const Program& program);

}  // namespace neuron_sim
