#include "device/compiler/middle_end/split_room.h"

#include <algorithm>
#include <numeric>

#include "device/compiler/line/kept_tiles.h"

namespace neuron_sim {

void SplitRoom::begin(size_t pieces) {
  ++loop_;
  count_ = pieces;
  used_.clear();
}

void SplitRoom::use(const Operand& operand, size_t piece) {
  if (operand.memory != MemoryKind::kPsum && operand.memory != MemoryKind::kSbuf) return;
  Pieces& pieces = pieces_[static_cast<size_t>(operand.tile)];
  if (pieces.loop != loop_) {
    pieces = {loop_, piece, piece};
    used_.push_back(operand.tile);
  }
  pieces.first = std::min(pieces.first, piece);
  pieces.last = std::max(pieces.last, piece);
}

int64_t SplitRoom::iterations(int64_t trips) const {
  const Limits& limits = line_.architecture->limits;
  const int64_t bank = limits.psum_bank.count;
  std::vector<int64_t> banks(count_), bytes(count_);  // what changes from one piece to the next
  for (const TileId id : used_) {
    const Tile& tile = line_.tiles[static_cast<size_t>(id)];
    const Pieces& pieces = pieces_[static_cast<size_t>(id)];
    const bool psum = tile.memory == MemoryKind::kPsum;
    const int64_t amount = psum ? (tile.bytes + bank - 1) / bank : tile.bytes;
    (psum ? banks : bytes)[pieces.first] += amount;
    (psum ? banks : bytes)[pieces.last] -= amount;
  }
  const auto fitting = [&](std::vector<int64_t>& amounts, int64_t room) {
    std::partial_sum(amounts.begin(), amounts.end(), amounts.begin());
    const int64_t needed = *std::max_element(amounts.begin(), amounts.end());
    if (needed == 0 || needed <= room) return trips;
    return std::max<int64_t>(room, 0) / ((needed + trips - 1) / trips);
  };
  return std::min(fitting(banks, limits.psum_banks),
                  fitting(bytes, limits.sbuf_usable.count - kDescriptorBytes));
}

}  // namespace neuron_sim
