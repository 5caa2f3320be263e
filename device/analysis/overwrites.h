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
  uint32_t written;      ///< the instruction that wrote the tile last
  TileId other;          ///< the tile that lies over it
  uint32_t overwritten;  ///< the instruction that wrote the other tile there
};

/// The first such read of every pair of tiles, in program order. The tiles of a ring are
/// distinguished only by their addresses. Register loops are taken to run once; accesses at a
/// register address are skipped. Reading bytes through a tile that never wrote any is not reported
/// here: undefined_reads does so.
std::vector<OverwrittenRead> overwritten_reads(const Program& program);

}  // namespace neuron_sim
