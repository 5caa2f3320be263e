#pragma once
// Where the elements of a tile come from that copies within SBUF fill.

#include <bit>
#include <cstdint>
#include <vector>

#include "device/compiler/line/tile_uses.h"

namespace neuron_sim {

/// A tile that copies fill, maybe beside other instances.
struct CopiedTile {
  TileId tile = kNoTile;
  std::vector<uint32_t> copies;  ///< instances of tensor_copy; at least one
  std::vector<TileUse> other_writes;
};

/// The source of each element of a copied tile. Refers to the line as it was at construction.
class CopyOrigins {
 public:
  CopyOrigins(const StraightLine& line, const CopiedTile& copied);

  struct Element {
    uint32_t copy = 0;
    TileId tile = kNoTile;  ///< none: no copy writes it
    int64_t byte = 0;       ///< in the source, like Operand::offset
  };

  /// Whether each element comes from one write, and all copies have the same dtype, write the same
  /// partitions and move them by the same number.
  bool valid() const { return valid_; }
  /// Partition of the source minus partition of the copied tile.
  int32_t shift() const { return shift_; }
  /// The element at that byte of the copied tile, like Operand::offset; null when no copy writes
  /// it.
  const Element* at(int64_t byte) const;
  /// Whether an operand reads whole elements of partitions that the copies write.
  bool holds(const Operand& reader) const;

 private:
  /// The element that has a byte from `base_` on. Sizes are powers of two: dividing each byte by
  /// one would be most of the work.
  size_t index_of(int64_t byte) const {
    return static_cast<size_t>(byte - base_) >> std::countr_zero(static_cast<uint64_t>(itemsize_));
  }
  bool add(const StraightLine& line, uint32_t copy);
  bool is_beside(const Operand& write) const;

  Operand first_;  ///< the destination of the first copy
  int64_t itemsize_ = 1, base_ = 0;
  int32_t shift_ = 0;
  bool valid_ = false;
  std::vector<Element> elements_;
};

}  // namespace neuron_sim
