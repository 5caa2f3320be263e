#include "device/compiler/middle_end/forward_stores.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "device/base/interruption.h"
#include "device/compiler/line/meetings.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/compiler/tiles/sbuf_lives.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/compiler/tiles/transfer_rows.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

using Rows = TransferRows;

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
        lives_(line, uses_),
        room_((line.architecture->limits.sbuf_usable.count - kDescriptorBytes) / kForwardingParts),
        loads_left_(line.tiles.size()),
        closed_(line.tiles.size()) {}

  void run() {
    std::vector<StraightInstruction> instructions;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      const std::vector<Rows> rows = rows_of(line_, i);
      const bool loads = !rows.empty() && rows.front().hbm.reads();
      const bool forwarded = loads && forward(rows, instructions);
      if (!forwarded) {
        note_memory(i, rows);
        instructions.push_back(line_.instructions[i]);
      }
    }
    line_.instructions = std::move(instructions);
    remove_dead_stores();
  }

 private:
  /// Records the effects of a kept instance on tensors in HBM.
  void note_memory(uint32_t i, const std::vector<Rows>& rows) {
    if (is_meeting(line_.instructions[i])) return;  // moves no bytes there
    for (const StraightOperand& operand : line_.operands_of(line_.instructions[i])) {
      if (operand.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(operand.tile);
      if (operand.reads()) ++loads_left_[tile];
      if (!operand.writes()) continue;
      auto& stores = stores_[operand.tile];
      std::erase_if(stores, [&](const Rows& store) {
        const auto overwrites = [&](const Rows& row) {
          return overlap(store.hbm.region, row.hbm.region);
        };
        return rows.empty() ? overlap(store.hbm.region, line_.region_of(operand))
                            : std::any_of(rows.begin(), rows.end(), overwrites);
      });
      stores.insert(stores.end(), rows.begin(), rows.end());
      closed_[tile] = closed_[tile] || rows.empty();  // written in a way that is not tracked
    }
  }

  /// Appends the copies that replace a load, given by its runs; false when it stays.
  bool forward(const std::vector<Rows>& load, std::vector<StraightInstruction>& instructions) {
    const auto found = stores_.find(load.front().hbm.tile);
    if (found == stores_.end()) return false;
    std::vector<Piece> all;
    std::vector<StraightInstruction> copies;
    for (const Rows& run : load) {
      const std::vector<Piece> pieces = pieces_of(run, found->second);
      if (pieces.empty()) return false;
      for (const Piece& piece : pieces) {
        std::optional<StraightInstruction> copy = copy_of(run, piece);
        if (!copy) return false;
        copies.push_back(*copy);
        all.push_back(piece);
      }
    }
    copies = merged_copies(line_, std::move(copies));
    const bool is_short = std::all_of(copies.begin(), copies.end(), [&](const auto& copy) {
      const WholeOperands operands = line_.whole_operands_of(copy);
      return is_worthwhile(operands[0], operands[1]);
    });
    if (!is_short || !keep_alive(load.front().instance, all)) return false;
    for (StraightInstruction& copy : copies) {
      renew_demand(line_, copy);
      instructions.push_back(copy);
    }
    return true;
  }

  /// Whether the copy goes away (eliminate_copies) or takes less time than the transfers.
  static bool is_worthwhile(const Operand& target, const Operand& source) {
    const MergedPattern to(target), from(source);
    const bool same_layout =
        to.is_run(itemsize(target.dtype)) && from.is_run(itemsize(source.dtype));
    return same_layout || to.elements() <= kForwardedElements;
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
      const StraightOperand& operand = operand_at(line_, use);
      return operand.writes() && use.instance > store.instance && use.instance <= load &&
             overlap(line_.region_of(operand), store.chip.region);
    });
  }

  std::optional<StraightInstruction> copy_of(const Rows& load, const Piece& piece) {
    std::optional<Operand> source = part(piece.store->chip, piece.store->begin(), piece, load);
    std::optional<Operand> target = part(load.chip, load.begin(), piece, load);
    if (!source || !target) return std::nullopt;
    source->direction = Direction::kRead;
    target->direction = Direction::kWrite;
    StraightInstruction copy = line_.instructions[load.instance];
    copy.instruction.type = &kTensorCopy;
    copy.instruction.engine = EngineKind::kVector;
    copy.instruction.engine_given = false;
    copy.instruction.attribute_count = 0;
    set_operands(line_, copy, std::array{*target, *source});
    if (is_legal(line_, copy)) return copy;
    return std::nullopt;
  }

  /// The elements of a tile that hold the bytes of a piece; `begin`: those of its first element.
  std::optional<Operand> part(const Operand& chip, int64_t begin, const Piece& piece,
                              const Rows& load) const {
    const int64_t size = itemsize(chip.dtype);
    return cut(line_, chip, (piece.begin - begin) / size, (piece.end - piece.begin) / size,
               load.chip.partitions);
  }

  /// Keeps the tiles of the stores until the load; false when SBUF has no room for them.
  bool keep_alive(uint32_t load, const std::vector<Piece>& pieces) {
    struct Extension {
      size_t tile;
      uint32_t first;
      int64_t bytes;
    };
    std::vector<Extension> extensions;
    for (const Piece& piece : pieces) {
      const auto tile = static_cast<size_t>(piece.store->chip.tile);
      if (lives_.last_use[tile] >= load) continue;
      extensions.push_back({tile, lives_.last_use[tile] + 1, line_.tiles[tile].bytes});
      lives_.bytes.add(extensions.back().first, load, extensions.back().bytes);
      lives_.last_use[tile] = load;
    }
    const bool fits = std::all_of(extensions.begin(), extensions.end(), [&](const Extension& each) {
      return lives_.bytes.largest(each.first, load) <= room_;
    });
    if (fits) return true;
    for (const Extension& each : extensions) {
      lives_.bytes.add(each.first, load, -each.bytes);
      lives_.last_use[each.tile] = each.first - 1;
    }
    return false;
  }

  /// Removes stores to scratch tensors without loads.
  void remove_dead_stores() {
    std::vector<bool> removed(line_.instructions.size());
    for (size_t i = 0; i < line_.instructions.size(); ++i) {
      if (line_.instructions[i].instruction.type != &kDmaCopy) continue;
      const StraightOperand& target = line_.operands_of(line_.instructions[i])[0];
      if (target.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(target.tile);
      removed[i] = line_.tiles[tile].scratch >= 0 && loads_left_[tile] == 0 && !closed_[tile];
    }
    remove_instances(line_, removed);
  }

  StraightLine& line_;
  const TileUses uses_;
  SbufLives lives_;
  const int64_t room_;
  std::unordered_map<TileId, std::vector<Rows>> stores_;  ///< that later ones left whole
  std::vector<int64_t> loads_left_;                       ///< per tensor
  std::vector<bool> closed_;
};

}  // namespace

void forward_stores(StraightLine& line) { Forwarding(line).run(); }

}  // namespace neuron_sim
