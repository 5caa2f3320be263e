#include "device/compiler/middle_end/forward_stores.h"

#include <algorithm>
#include <unordered_map>

#include "device/base/interruption.h"
#include "device/compiler/line/kept_tiles.h"
#include "device/compiler/line/live_bytes.h"
#include "device/compiler/line/meetings.h"
#include "device/compiler/line/tile_uses.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

/// The free dimensions of an operand without those of size 1, neighbours merged.
struct MergedPattern {
  std::vector<Dimension> dimensions;
  explicit MergedPattern(const Operand& operand) {
    for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
      const Dimension& free = operand.free[i];
      if (free.size == 1) continue;
      if (!dimensions.empty() && dimensions.back().stride == free.stride * free.size) {
        dimensions.back() = {dimensions.back().size * free.size, free.stride};
      } else {
        dimensions.push_back(free);
      }
    }
  }

  int64_t elements() const {
    int64_t product = 1;
    for (const Dimension& dimension : dimensions) product *= dimension.size;
    return product;
  }
  bool is_run(int64_t itemsize) const {
    return dimensions.empty() || (dimensions.size() == 1 && dimensions[0].stride == itemsize);
  }
  /// Keeps elements [first, first + count) of the row-major order and returns their first byte, or
  /// -1 when they are no pattern.
  int64_t cut(int64_t first, int64_t count) {
    int64_t offset = 0, inner = elements();
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (first == 0 && count == inner) return offset;
      inner /= dimensions[i].size;
      offset += first / inner * dimensions[i].stride;
      if (first % inner == 0 && count % inner == 0) {
        dimensions[i].size = count / inner;
        return offset;
      }
      if (first / inner != (first + count - 1) / inner) return -1;
      first %= inner;
      dimensions[i].size = 1;
    }
    return offset;
  }
};

/// A transfer between a tile and rows of a tensor, one row per partition, each without gaps.
struct Rows {
  uint32_t instance;
  Operand chip, hbm;

  int64_t begin() const { return hbm.offset; }
  int64_t end() const { return hbm.offset + MergedPattern(hbm).elements() * itemsize(hbm.dtype); }
  /// Whether partition p of both has the same rows, of which `other` may have fewer.
  bool same_rows(const Rows& other) const {
    return hbm.dtype == other.hbm.dtype && chip.start_partition == other.chip.start_partition &&
           hbm.partitions >= other.hbm.partitions &&
           (hbm.partitions == 1 || other.hbm.partitions == 1 ||
            hbm.partition_stride == other.hbm.partition_stride);
  }
};

/// Elements of a load and the store that holds them.
struct Piece {
  const Rows* store;
  int64_t begin, end;  ///< bytes of the tensor, in the row of partition 0
};

class Forwarding {
 public:
  explicit Forwarding(StraightLine& line)
      : line_(line),
        uses_(line),
        live_(line.instructions.size()),
        room_((line.architecture->limits.sbuf_usable.count - kDescriptorBytes) / kForwardingParts),
        loads_left_(line.tiles.size()),
        closed_(line.tiles.size()),
        last_use_(line.tiles.size()) {
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const std::span<const TileUse> all = uses_.of(static_cast<TileId>(tile));
      if (all.empty() || line.tiles[tile].memory != MemoryKind::kSbuf) continue;
      last_use_[tile] = all.back().instance;
      live_.add(all.front().instance, all.back().instance, line.tiles[tile].bytes);
    }
  }

  void run() {
    std::vector<StraightInstruction> instructions;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      const std::optional<Rows> rows = rows_of(i);
      const bool forwarded = rows && rows->hbm.reads() && forward(*rows, instructions);
      if (!forwarded) {
        note_memory(i, rows);
        instructions.push_back(line_.instructions[i]);
      }
    }
    line_.instructions = std::move(instructions);
    remove_dead_stores();
  }

 private:
  /// Instance `i` as a transfer of rows, if it is one.
  std::optional<Rows> rows_of(uint32_t i) const {
    const StraightInstruction& instance = line_.instructions[i];
    if (instance.instruction.type != &kDmaCopy) return std::nullopt;
    const auto operands = line_.operands_of(instance);
    const bool loads = operands[1].memory == MemoryKind::kHbm;
    const Operand& chip = operands[loads ? 0 : 1];
    const Operand& hbm = operands[loads ? 1 : 0];
    if (chip.memory != MemoryKind::kSbuf || hbm.memory != MemoryKind::kHbm ||
        operands[2].present() || operands[0].reads() || chip.dtype != hbm.dtype ||
        conflicts_with_peer(line_, hbm) || line_.tile_of(chip).placed || hbm.indirect ||
        hbm.register_index >= 0 || chip.partitions != hbm.partitions ||
        chip.partition_stride != 1 || !MergedPattern(hbm).is_run(itemsize(hbm.dtype)) ||
        MergedPattern(hbm).elements() != MergedPattern(chip).elements()) {
      return std::nullopt;
    }
    const int64_t run = MergedPattern(hbm).elements() * itemsize(hbm.dtype);
    if (hbm.partitions > 1 && hbm.partition_stride < run) return std::nullopt;
    return Rows{i, chip, hbm};
  }

  /// Records the effects of a kept instance on tensors in HBM.
  void note_memory(uint32_t i, const std::optional<Rows>& rows) {
    if (is_meeting(line_.instructions[i])) return;  // moves no bytes there
    for (const Operand& operand : line_.operands_of(line_.instructions[i])) {
      if (operand.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(operand.tile);
      if (operand.reads()) ++loads_left_[tile];
      if (!operand.writes()) continue;
      auto& stores = stores_[operand.tile];
      std::erase_if(stores,
                    [&](const Rows& store) { return overlap(store.hbm.region, operand.region); });
      if (rows) {
        stores.push_back(*rows);
      } else {
        closed_[tile] = true;  // written in a way that is not tracked
      }
    }
  }

  /// Appends the copies that replace a load; false when it stays.
  bool forward(const Rows& load, std::vector<StraightInstruction>& instructions) {
    const auto found = stores_.find(load.hbm.tile);
    if (found == stores_.end()) return false;
    const std::vector<Piece> pieces = pieces_of(load, found->second);
    if (pieces.empty()) return false;
    std::vector<StraightInstruction> copies;
    for (const Piece& piece : pieces) {
      std::optional<StraightInstruction> copy = copy_of(load, piece);
      if (!copy) return false;
      copies.push_back(*copy);
    }
    if (!keep_alive(load, pieces)) return false;
    for (StraightInstruction& copy : copies) {
      renew_demand(line_, copy);
      instructions.push_back(copy);
    }
    return true;
  }

  /// The stores that together hold all rows of the load; empty when they do not.
  std::vector<Piece> pieces_of(const Rows& load, const std::vector<Rows>& stores) const {
    std::vector<Piece> pieces;
    for (const Rows& store : stores) {
      if (!overlap(store.hbm.region, load.hbm.region)) continue;
      const int64_t begin = std::max(store.begin(), load.begin());
      const int64_t end = std::min(store.end(), load.end());
      if (begin >= end || !store.same_rows(load) || is_overwritten(store, load.instance)) return {};
      pieces.push_back({&store, begin, end});
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    int64_t next = load.begin();
    for (const Piece& piece : pieces) {
      if (piece.begin != next) return {};
      next = piece.end;
    }
    return next == load.end() ? pieces : std::vector<Piece>{};
  }

  /// Whether the stored bytes were overwritten between the store and the load, or are by the load
  /// itself: the first of several copies would overwrite what the next one reads.
  bool is_overwritten(const Rows& store, uint32_t load) const {
    const auto uses = uses_.of(store.chip.tile);
    return std::any_of(uses.begin(), uses.end(), [&](const TileUse& use) {
      const Operand& operand = operand_at(line_, use);
      return operand.writes() && use.instance > store.instance && use.instance <= load &&
             overlap(operand.region, store.chip.region);
    });
  }

  std::optional<StraightInstruction> copy_of(const Rows& load, const Piece& piece) {
    std::optional<Operand> source = part(piece.store->chip, piece.store->begin(), piece, load);
    std::optional<Operand> target = part(load.chip, load.begin(), piece, load);
    if (!source || !target) return std::nullopt;
    source->direction = Direction::kRead;
    target->direction = Direction::kWrite;
    const bool same_layout = MergedPattern(*source).is_run(itemsize(source->dtype)) &&
                             MergedPattern(*target).is_run(itemsize(target->dtype));
    if (!same_layout && MergedPattern(*target).elements() > kForwardedElements) return std::nullopt;
    StraightInstruction copy = line_.instructions[load.instance];
    copy.instruction.type = &kTensorCopy;
    copy.instruction.engine = EngineKind::kVector;
    copy.instruction.engine_given = false;
    copy.instruction.attribute_count = 0;
    copy.instruction.operand_count = 2;
    copy.instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
    line_.operands.push_back(*target);
    line_.operands.push_back(*source);
    if (is_legal(line_, copy)) return copy;
    return std::nullopt;
  }

  /// The elements of a tile that hold the bytes of a piece; `begin`: those of its first element.
  std::optional<Operand> part(const Operand& chip, int64_t begin, const Piece& piece,
                              const Rows& load) const {
    const int64_t size = itemsize(chip.dtype);
    MergedPattern pattern(chip);
    const int64_t bytes =
        pattern.cut((piece.begin - begin) / size, (piece.end - piece.begin) / size);
    if (bytes < 0) return std::nullopt;
    Operand result = chip;
    result.partitions = load.chip.partitions;
    result.offset += bytes;
    std::erase_if(pattern.dimensions, [](const Dimension& each) { return each.size == 1; });
    if (pattern.dimensions.empty()) pattern.dimensions.push_back({1, size});
    result.rank = static_cast<int8_t>(pattern.dimensions.size());
    std::copy(pattern.dimensions.begin(), pattern.dimensions.end(), result.free.begin());
    renew_region(line_, result);
    return result;
  }

  /// Keeps the tiles of the stores until the load; false when SBUF has no room for them.
  bool keep_alive(const Rows& load, const std::vector<Piece>& pieces) {
    struct Extension {
      size_t tile;
      uint32_t first;
      int64_t bytes;
    };
    std::vector<Extension> extensions;
    for (const Piece& piece : pieces) {
      const auto tile = static_cast<size_t>(piece.store->chip.tile);
      if (last_use_[tile] >= load.instance) continue;
      extensions.push_back({tile, last_use_[tile] + 1, line_.tiles[tile].bytes});
      live_.add(extensions.back().first, load.instance, extensions.back().bytes);
      last_use_[tile] = load.instance;
    }
    const bool fits = std::all_of(extensions.begin(), extensions.end(), [&](const Extension& each) {
      return live_.largest(each.first, load.instance) <= room_;
    });
    if (fits) return true;
    for (const Extension& each : extensions) {
      live_.add(each.first, load.instance, -each.bytes);
      last_use_[each.tile] = each.first - 1;
    }
    return false;
  }

  /// Removes stores to scratch tensors without loads.
  void remove_dead_stores() {
    std::vector<bool> removed(line_.instructions.size());
    for (size_t i = 0; i < line_.instructions.size(); ++i) {
      if (line_.instructions[i].instruction.type != &kDmaCopy) continue;
      const Operand& target = line_.operands_of(line_.instructions[i])[0];
      if (target.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(target.tile);
      removed[i] = line_.tiles[tile].scratch >= 0 && loads_left_[tile] == 0 && !closed_[tile];
    }
    remove_instances(line_, removed);
  }

  StraightLine& line_;
  const TileUses uses_;
  LiveBytes live_;
  const int64_t room_;
  std::unordered_map<TileId, std::vector<Rows>> stores_;  ///< that later ones left whole
  std::vector<int64_t> loads_left_;                       ///< per tensor
  std::vector<bool> closed_;
  std::vector<uint32_t> last_use_;  ///< per tile
};

}  // namespace

void forward_stores(StraightLine& line) { Forwarding(line).run(); }

}  // namespace neuron_sim
