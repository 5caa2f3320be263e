#pragma once
// Where the bytes of a tile come from that copies within SBUF fill.

#include <cstdint>
#include <optional>
#include <vector>

#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {

/// A tile that copies fill, maybe beside other instances.
struct CopiedTile {
  TileId tile = kNoTile;
  std::vector<uint32_t> copies;  ///< instances of tensor_copy; at least one
  std::vector<TileUse> other_writes;
};

/// The source of each byte of a copied tile. Refers to the line as it was at construction.
class CopyOrigins {
 public:
  CopyOrigins(const StraightLine& line, const CopiedTile& copied);

  struct Origin {
    uint32_t copy = 0;
    TileId tile = kNoTile;
    int64_t byte = 0;  ///< in the source, like Operand::offset
  };

  /// Whether each byte comes from one write, and all copies have the same dtype and read the
  /// partitions that they write, the same ones.
  bool valid() const { return valid_; }
  /// The origin of that byte of the copied tile, like Operand::offset; empty when no copy writes
  /// it.
  std::optional<Origin> at(int64_t byte) const;
  /// The origin of the first of those bytes if one copy fills them with as many contiguous ones.
  std::optional<Origin> of_contiguous(int64_t byte, int64_t bytes) const;
  /// Whether an operand touches a byte that a copy writes.
  bool touch(const Operand& operand) const;
  /// Whether an operand reads whole elements of partitions that the copies write.
  bool holds(const Operand& reader) const;

 private:
  /// Bytes that a copy fills with contiguous ones.
  struct Run {
    int64_t begin = 0, end = 0;
    Origin first;
  };

  /// The first run that ends after that byte.
  std::vector<Run>::const_iterator run_after(int64_t byte) const;
  bool add(const StraightLine& line, uint32_t copy);
  bool fills_once() const;

  Operand first_;  ///< the destination of the first copy
  int64_t itemsize_ = 1, base_ = 0;
  bool valid_ = false;
  std::vector<Run> runs_;  ///< in order of their bytes, none of which is in two
};

}  // namespace neuron_sim
