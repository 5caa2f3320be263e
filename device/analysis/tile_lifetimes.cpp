#include "device/analysis/tile_lifetimes.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Numbers the positions and notes every touch of a tile.
class LifetimeWalk {
 public:
  LifetimeWalk(const Program& program, const std::vector<UnplacedTile>& tiles)
      : program_(program), unplaced_of_(program.tiles.size(), -1) {
    begins_.resize(program.loops.size());
    ends_.resize(program.loops.size());
    for (size_t i = 0; i < tiles.size(); ++i) {
      depths_.push_back(tiles[i].loops.size());
      loops_of_.push_back(&tiles[i].loops);
      for (int32_t turn = 0; turn < tiles[i].count; ++turn) {
        const auto id = static_cast<size_t>(tiles[i].first) + static_cast<size_t>(turn);
        unplaced_of_[id] = static_cast<int32_t>(i);
      }
    }
    result_.of.resize(tiles.size());
  }

  TileLifetimes run() {
    walk(&LifetimeWalk::narrow);
    walk(&LifetimeWalk::extend);
    return std::move(result_);
  }

 private:
  using Touch = void (LifetimeWalk::*)(size_t tile);

  void walk(Touch touch) {
    result_.instructions.clear();
    for (const Block& block : program_.cores) visit(block, touch);
  }
  uint32_t position() const { return static_cast<uint32_t>(result_.instructions.size()); }

  void visit(const Block& block, Touch touch) {
    for (const Node& node : block) {
      if (node.kind != Node::Kind::kLoop) {
        for (const Operand& operand : program_.operands_of(program_.instructions[node.index])) {
          const int32_t tile =
              operand.present() ? unplaced_of_[static_cast<size_t>(operand.tile)] : -1;
          if (tile >= 0) (this->*touch)(static_cast<size_t>(tile));
        }
        result_.instructions.push_back(node.index);
        continue;
      }
      begins_[node.index] = position();
      result_.instructions.push_back(UINT32_MAX);
      open_.push_back(node.index);
      visit(program_.loops[node.index].body, touch);
      open_.pop_back();
      ends_[node.index] = position();
      result_.instructions.push_back(UINT32_MAX);
    }
  }

  /// First walk: how many of the loops around the allocation enclose all touches.
  void narrow(size_t tile) {
    const std::vector<uint32_t>& loops = *loops_of_[tile];
    size_t& depth = depths_[tile];
    size_t common = 0;
    while (common < std::min(depth, open_.size()) && open_[common] == loops[common]) ++common;
    depth = common;
  }

  /// Second walk: loops inside the tile's block count as a whole; where they end is known from the
  /// first walk.
  void extend(size_t tile) {
    Lifetime& lifetime = result_.of[tile];
    const size_t depth = depths_[tile];
    const bool inside = open_.size() > depth;
    lifetime.first = std::min(lifetime.first, inside ? begins_[open_[depth]] : position());
    lifetime.last = std::max(lifetime.last, inside ? ends_[open_[depth]] : position());
  }

  const Program& program_;
  std::vector<int32_t> unplaced_of_;  ///< per tile of the program
  std::vector<size_t> depths_;        ///< of the block each unplaced tile belongs to
  std::vector<const std::vector<uint32_t>*> loops_of_;
  std::vector<uint32_t> begins_, ends_;  ///< positions of loops
  std::vector<uint32_t> open_;
  TileLifetimes result_;
};

}  // namespace

TileLifetimes tile_lifetimes(const Program& program, const std::vector<UnplacedTile>& tiles) {
  return LifetimeWalk(program, tiles).run();
}

LivePeak live_peak(const std::vector<UnplacedTile>& tiles, const TileLifetimes& lifetimes,
                   const std::vector<size_t>& chosen, int64_t taken) {
  std::vector<int64_t> changes(lifetimes.instructions.size() + 1);  // by position
  for (const size_t i : chosen) {
    const int64_t bytes = tiles[i].pitch * tiles[i].count;
    changes[lifetimes.of[i].first] += bytes;
    changes[lifetimes.of[i].last + 1] -= bytes;
  }
  LivePeak peak;
  int64_t live = taken;
  for (uint32_t position = 0; position < changes.size(); ++position) {
    live += changes[position];
    if (changes[position] > 0 && live > peak.bytes) peak = {live, position};
  }
  return peak;
}

std::string tensor_of(const std::string& label) {
  const size_t bracket = label.find('[');
  return bracket == 0 || bracket == std::string::npos ? label : label.substr(0, bracket);
}

}  // namespace neuron_sim
