#pragma once
// Tiles placed by hand that lose bytes to another tile before they are read.

#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A read of a tile's bytes that another tile placed over them has overwritten since.
struct OverwrittenRead {
  uint32_t instruction;  ///< the one that reads
  int operand;
  TileId tile;           ///< the tile whose bytes are read
  TileId other;          ///< the tile that lies over it
  uint32_t overwritten;  ///< the instruction that wrote the other tile there
};

/// The first such read of every pair of tiles, in program order. The tiles of a ring are
/// distinguished only by their addresses. Register loops are taken to run once; accesses at a
/// register address are skipped. Bytes that the tile itself never wrote are not reported here:
/// ShadowWalk does so where something depends on them.
std::vector<OverwrittenRead> overwritten_reads(const Program& program);

}  // namespace neuron_sim
