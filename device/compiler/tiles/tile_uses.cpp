#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {

TileUses::TileUses(const StraightLine& line, Which which) : first_(line.tiles.size() + 1) {
  const auto each_use = [&](auto&& use) {
    for (uint32_t i = 0; i < line.instructions.size(); ++i) {
      const auto operands = line.operands_of(line.instructions[i]);
      for (uint32_t o = 0; o < operands.size(); ++o) {
        if (!operands[o].present() || (which == kWrites && !operands[o].writes())) continue;
        use(static_cast<size_t>(operands[o].tile), TileUse{i, o});
      }
    }
  };
  each_use([&](size_t tile, const TileUse&) { ++first_[tile + 1]; });
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  uses_.resize(first_.back());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  each_use([&](size_t tile, const TileUse& use) { uses_[next[tile]++] = use; });
}

void remove_instances(StraightLine& line, const std::vector<bool>& removed) {
  size_t kept = 0;
  for (size_t i = 0; i < line.instructions.size(); ++i) {
    if (!removed[i]) line.instructions[kept++] = line.instructions[i];
  }
  line.instructions.resize(kept);
}

}  // namespace neuron_sim
