#include "device/compiler/tiles/split_room.h"

#include <algorithm>
#include <numeric>

#include "device/compiler/tiles/kept_tiles.h"

namespace neuron_sim {

void SplitRoom::note(const LoopRun& loop) {
  ++loop_;
  used_.clear();
  for (uint32_t i = loop.begin; i < loop.end; ++i) {
    const uint32_t statement = line_.instructions[i].statement;
    for (const StraightOperand& operand : line_.operands_of(line_.instructions[i])) {
      if (operand.memory != MemoryKind::kPsum && operand.memory != MemoryKind::kSbuf) continue;
      Statements& uses = statements_[static_cast<size_t>(operand.tile)];
      if (uses.loop != loop_) {
        uses = {loop_, statement, statement};
        used_.push_back(operand.tile);
      }
      uses.first = std::min(uses.first, statement);
      uses.last = std::max(uses.last, statement);
    }
  }
}

int64_t SplitRoom::iterations(int64_t trips, size_t pieces,
                              const std::function<size_t(uint32_t)>& piece_of) const {
  const Limits& limits = line_.architecture->limits;
  const int64_t bank = limits.psum_bank.count;
  std::vector<int64_t> banks(pieces), bytes(pieces);  // what changes from one piece to the next
  for (const TileId id : used_) {
    const Tile& tile = line_.tiles[static_cast<size_t>(id)];
    const Statements& uses = statements_[static_cast<size_t>(id)];
    const bool psum = tile.memory == MemoryKind::kPsum;
    const int64_t amount = psum ? (tile.bytes + bank - 1) / bank : tile.bytes;
    (psum ? banks : bytes)[piece_of(uses.first)] += amount;
    (psum ? banks : bytes)[piece_of(uses.last)] -= amount;
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
