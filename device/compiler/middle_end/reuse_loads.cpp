#include "device/compiler/middle_end/reuse_loads.h"

#include <algorithm>
#include <map>

#include "device/base/interruption.h"
#include "device/compiler/line/live_bytes.h"
#include "device/compiler/line/tile_uses.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Equal for loads that may share a tile; the iteration of outer loops may follow.
using Key = std::vector<int64_t>;

void append(Key& key, const Operand& operand, const Tile& tile) {
  const bool on_chip = operand.memory != MemoryKind::kHbm;
  key.insert(key.end(), {static_cast<int64_t>(operand.dtype), operand.partitions,
                         operand.partition_stride, operand.rank, operand.start_partition,
                         on_chip ? operand.offset - tile.address : operand.offset});
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    key.insert(key.end(), {operand.free[i].size, operand.free[i].stride});
  }
  if (!on_chip) {
    key.push_back(operand.tile);
    return;
  }
  key.insert(key.end(),
             {static_cast<int64_t>(tile.dtype), tile.bytes, tile.partitions, tile.start_partition});
}

/// A load that may be removed, or that others may use.
struct Load {
  uint32_t instance;
  TileId tile;
  Key key;
};

class LoadReuse {
 public:
  LoadReuse(StraightLine& line, int64_t loops)
      : line_(line),
        loops_(loops),
        uses_(line),
        live_(line.instructions.size()),
        room_(line.architecture->limits.sbuf_usable.count - kDescriptorBytes),
        removed_(line.instructions.size()) {
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const std::span<const TileUse> all = uses_.of(static_cast<TileId>(tile));
      spans_.push_back(all.empty() ? Span{1, 0} : Span{all.front().instance, all.back().instance});
      holder_.push_back(static_cast<TileId>(tile));
      written_.push_back(std::any_of(all.begin(), all.end(), [&](const TileUse& use) {
        return operand_at(line_, use).writes();
      }));
      if (line.tiles[tile].memory != MemoryKind::kSbuf || all.empty()) continue;
      live_.add(spans_[tile].first, spans_[tile].last, line.tiles[tile].bytes);
    }
  }

  void run() {
    std::map<uint32_t, std::vector<Load>> statements;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      if (is_load(i)) statements[line_.instructions[i].statement].push_back(load_of(i));
    }
    Known all;  // loads of any statement
    for (const auto& [statement, loads] : statements) {
      poll_interruption();
      const int depth = line_.instructions[loads.front().instance].depth;
      const int outermost = loops_ == 0 ? 0 : std::max<int>(0, depth - static_cast<int>(loops_));
      bool done = loops_ == 0 && reuse(loads, 0, all);
      for (int prefix = outermost; !done && prefix < depth; ++prefix) {
        Known own;
        done = reuse(loads, prefix, own);
      }
    }
    for (Operand& operand : line_.operands) {
      if (!operand.present()) continue;
      TileId tile = operand.tile;
      while (holder_[static_cast<size_t>(tile)] != tile) tile = holder_[static_cast<size_t>(tile)];
      if (tile != operand.tile) move_to_tile(line_, operand, tile);
    }
    remove_instances(line_, removed_);
  }

 private:
  struct Span {
    uint32_t first, last;
  };
  /// A load that an earlier tile replaces, and the previous span of that tile.
  struct Reused {
    const Load* load;
    TileId holder;
    Span before;
  };
  using Known = std::map<Key, const Load*>;

  bool is_load(uint32_t i) const {
    const StraightInstruction& instance = line_.instructions[i];
    if (instance.instruction.type != &kDmaCopy) return false;
    const auto operands = line_.operands_of(instance);
    const Operand& dst = operands[0];
    const Operand& src = operands[1];
    if (src.memory != MemoryKind::kHbm || dst.memory != MemoryKind::kSbuf || dst.reads() ||
        operands[2].present() || line_.tile_of(dst).placed) {
      return false;
    }
    const auto reads = [&](const TileUse& use) {
      return operand_at(line_, use).direction == Direction::kRead;
    };
    const auto target = uses_.of(dst.tile);
    return !written_[static_cast<size_t>(src.tile)] && target.front().instance == i &&
           std::all_of(target.begin() + 1, target.end(), reads);
  }

  Load load_of(uint32_t i) const {
    const StraightInstruction& instance = line_.instructions[i];
    const auto operands = line_.operands_of(instance);
    Load load{i, operands[0].tile, {}};
    append(load.key, operands[0], line_.tile_of(operands[0]));
    append(load.key, operands[1], line_.tile_of(operands[1]));
    for (const Attribute& attribute : line_.attributes_of(instance)) {
      load.key.push_back(attribute.bits);
    }
    return load;
  }

  /// Lets loads whose first `prefix` loop variables are equal share tiles; none when SBUF cannot
  /// hold them all.
  bool reuse(const std::vector<Load>& loads, int prefix, Known& known) {
    const Known before = known;
    std::vector<Reused> reused;
    for (const Load& load : loads) {
      Key key = load.key;
      const auto& iteration = line_.instructions[load.instance].iteration;
      key.insert(key.end(), iteration.begin(), iteration.begin() + prefix);
      const auto [entry, fresh] = known.try_emplace(key, &load);
      if (fresh) continue;
      // The statement that comes first may load a row later: loops run both in turn.
      const Load* later = &load;
      if (later->instance < entry->second->instance) std::swap(later, entry->second);
      if (share(*later, entry->second->tile, reused)) continue;
      for (auto undone = reused.rbegin(); undone != reused.rend(); ++undone) undo(*undone);
      known = before;
      return false;
    }
    for (const Reused& entry : reused) removed_[entry.load->instance] = true;
    return !reused.empty();
  }

  bool share(const Load& load, TileId holder, std::vector<Reused>& reused) {
    Span& kept = spans_[static_cast<size_t>(holder)];
    const Span& joined = spans_[static_cast<size_t>(load.tile)];
    const int64_t bytes = line_.tiles[static_cast<size_t>(holder)].bytes;
    reused.push_back({&load, holder, kept});
    holder_[static_cast<size_t>(load.tile)] = holder;
    // Both tiles count where they overlap: the excess is subtracted.
    live_.add(joined.first, joined.last, -bytes);
    if (joined.last > kept.last) {
      live_.add(kept.last + 1, joined.last, bytes);
      kept.last = joined.last;
    }
    return live_.largest(reused.back().before.last + 1, kept.last) <= room_;
  }

  void undo(const Reused& entry) {
    Span& kept = spans_[static_cast<size_t>(entry.holder)];
    const Span& joined = spans_[static_cast<size_t>(entry.load->tile)];
    const int64_t bytes = line_.tiles[static_cast<size_t>(entry.holder)].bytes;
    if (kept.last > entry.before.last) live_.add(entry.before.last + 1, kept.last, -bytes);
    live_.add(joined.first, joined.last, bytes);
    kept = entry.before;
    holder_[static_cast<size_t>(entry.load->tile)] = entry.load->tile;
  }

  StraightLine& line_;
  int64_t loops_;
  TileUses uses_;
  LiveBytes live_;
  int64_t room_;
  std::vector<Span> spans_;     ///< per tile: first and last instance that use it
  std::vector<TileId> holder_;  ///< per tile: the one that replaces it
  std::vector<bool> written_;   ///< per tile: whether anything writes it
  std::vector<bool> removed_;
};

}  // namespace

void reuse_loads(StraightLine& line, const PassSettings& settings) {
  const bool small = std::ssize(line.instructions) <= settings["reuse_instances"];
  LoadReuse(line, small ? 0 : settings["reuse_loops"]).run();
}

}  // namespace neuron_sim
