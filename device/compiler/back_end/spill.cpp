#include "device/compiler/back_end/spill.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "device/analysis/access_runs.h"
#include "device/base/interruption.h"
#include "device/compiler/back_end/spill_copies.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {
namespace {

/// A tile on the walk through the program order.
struct TileState {
  bool is_resident = false;
  bool was_touched = false;
  bool is_repeatable = true;      ///< all its writers so far may run again
  bool is_first_stay = true;      ///< it has not left the chip yet
  bool was_read = false;          ///< in this stay
  bool was_dropped = false;       ///< its writers are gone, because they are to run later
  TileId now = kNoTile;           ///< what stands for it on the chip
  TileId slot = kNoTile;          ///< where it is saved
  size_t next = 0;                ///< of its uses
  uint32_t last_use = 0;          ///< instance
  TileBox written, unsaved;       ///< since the beginning, since it was saved
  std::vector<uint32_t> writers;  ///< instances
};

class Spilling {
 public:
  Spilling(StraightLine& line, MemoryKind memory, int64_t room)
      : line_(line),
        memory_(memory),
        keeps_nothing_(room == 0),
        room_(room - placed_bytes()),
        uses_(line),
        states_(line.tiles.size()),
        written_(line.tiles.size()),
        removed_(line.instructions.size()),
        before_(line.instructions.size()),
        after_(line.instructions.size()) {
    for (const StraightInstruction& instance : line.instructions) {
      for (const StraightOperand& operand : line.operands_of(instance)) {
        if (operand.writes()) written_[static_cast<size_t>(operand.tile)] = true;
      }
    }
    for (size_t i = 0; i < states_.size(); ++i) states_[i].now = static_cast<TileId>(i);
  }

  void run() {
    for (uint32_t i = 0; i < removed_.size(); ++i) {
      poll_interruption();
      std::vector<TileId> wanted = tiles_of(i);
      std::erase_if(wanted, [&](TileId tile) { return read_from_slot(tile, i); });
      if (keeps_nothing_) make_room(room_);
      int64_t needed = 0;
      for (const TileId tile : wanted) {
        if (!state_of(tile).is_resident) needed += size_of(tile);
        residents_.erase({i, tile});
      }
      make_room(needed);
      for (const TileId tile : wanted) enter(tile, i);
      note(i);
      for (const TileId tile : wanted) advance(tile, i);
    }
    insert();
  }

 private:
  TileState& state_of(TileId tile) { return states_[static_cast<size_t>(tile)]; }

  int64_t size_of(TileId tile) const {
    const int64_t bytes = line_.tiles[static_cast<size_t>(tile)].bytes;
    if (memory_ == MemoryKind::kSbuf) return SlotAllocator::rounded(bytes);
    const int64_t bank = line_.architecture->limits.psum_bank.count;
    return (bytes + bank - 1) / bank * bank;
  }

  /// Bytes below the end of each tile placed by hand are not available, overlaps counted once.
  int64_t placed_bytes() const {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (const Tile& tile : line_.tiles) {
      if (tile.memory != memory_ || !tile.placed) continue;
      ranges.emplace_back(tile.address, tile.address + tile.bytes);
    }
    std::sort(ranges.begin(), ranges.end());
    int64_t bytes = 0, end = 0;
    for (const auto& [first, its_end] : ranges) {
      bytes += std::max<int64_t>(its_end - std::max(first, end), 0);
      end = std::max(end, its_end);
    }
    return bytes;
  }

  /// The tiles of this memory that an instance touches.
  std::vector<TileId> tiles_of(uint32_t instance) const {
    std::vector<TileId> tiles;
    for (const StraightOperand& operand : line_.operands_of(line_.instructions[instance])) {
      if (operand.memory != memory_ || line_.tile_of(operand).placed) continue;
      if (std::count(tiles.begin(), tiles.end(), operand.tile) == 0) tiles.push_back(operand.tile);
    }
    return tiles;
  }

  /// Sends tiles away until `needed` bytes are free, or all are gone.
  void make_room(int64_t needed) {
    while (!residents_.empty() && live_ + needed > room_) {
      const TileId farthest = residents_.rbegin()->second;
      residents_.erase(std::prev(residents_.end()));
      leave(farthest);
    }
  }

  void leave(TileId tile) {
    TileState& state = state_of(tile);
    live_ -= size_of(tile);
    state.is_resident = false;
    if (!state.is_repeatable && !state.unsaved.is_empty()) {
      if (state.slot == kNoTile) state.slot = add_slot(line_, tile);
      save(state);
    } else if (state.is_repeatable && state.is_first_stay && !state.was_read) {
      for (const uint32_t writer : state.writers) removed_[writer] = true;
      state.was_dropped = true;
    }
    state.is_first_stay = false;
  }

  void save(TileState& state) {
    const uint32_t after = state.last_use;
    after_[after].push_back(
        copy_of_tile(line_, state.slot, state.now, state.unsaved, line_.instructions[after]));
    count(state.unsaved, line_.spills.saves, line_.spills.save_bytes);
    state.unsaved = {};
  }

  void enter(TileId tile, uint32_t instance) {
    TileState& state = state_of(tile);
    if (state.is_resident) return;
    live_ += size_of(tile);
    state.is_resident = true;
    state.was_read = false;
    if (!state.was_touched || state.written.is_empty()) return;
    state.now = add_version(line_, tile);
    if (state.is_repeatable) {
      for (const uint32_t writer : state.writers) repeat(writer, state, instance);
      state.was_dropped = false;
      return;
    }
    before_[instance].push_back(
        copy_of_tile(line_, state.now, state.slot, state.written, line_.instructions[instance]));
    count(state.written, line_.spills.reloads, line_.spills.reload_bytes);
  }

  /// Lets an instance that only reads a tile of PSUM read its copy in SBUF, if it can.
  bool read_from_slot(TileId tile, uint32_t instance) {
    const TileState& state = state_of(tile);
    if (memory_ != MemoryKind::kPsum || state.is_resident || state.slot == kNoTile) return false;
    StraightInstruction& reader = line_.instructions[instance];
    const std::span<StraightOperand> operands = line_.operands_of(reader);
    const std::vector<StraightOperand> before(operands.begin(), operands.end());
    for (StraightOperand& operand : operands) {
      if (operand.tile != tile) continue;
      move_to_tile(line_, operand, state.slot);
      operand.memory = MemoryKind::kSbuf;
    }
    const bool writes =
        std::any_of(before.begin(), before.end(), [&](const StraightOperand& operand) {
          return operand.tile == tile && operand.writes();
        });
    if (!writes && is_legal(line_, reader)) {
      renew_demand(line_, reader);
      return true;
    }
    std::copy(before.begin(), before.end(), operands.begin());
    return false;
  }

  void count(const TileBox& box, int64_t& number, int64_t& bytes) const {
    if (memory_ == MemoryKind::kPsum) {
      ++line_.spills.psum_copies;
      line_.spills.psum_bytes += box.bytes();
      return;
    }
    ++number;
    bytes += box.bytes();
  }

  /// Runs a writer of a tile again, for what stands for it now, before an instance.
  void repeat(uint32_t writer, const TileState& state, uint32_t instance) {
    StraightInstruction copy = line_.instructions[writer];
    const auto operands = line_.operands_of(copy);
    const std::vector<StraightOperand> own(operands.begin(), operands.end());
    copy.instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
    line_.operands.insert(line_.operands.end(), own.begin(), own.end());
    StraightOperand& target = line_.operands_of(copy)[0];
    move_to_tile(line_, target, state.now);
    before_[instance].push_back(copy);
    if (copy.instruction.type != &kDmaCopy || state.was_dropped) return;
    ++line_.spills.repeated_loads;
    const Operand& pattern = line_.pattern_of(target);
    line_.spills.repeated_bytes += elements_of(pattern) * itemsize(pattern.dtype);
  }

  /// Moves the operands of an instance to where their tiles are, and notes what it does to them.
  void note(uint32_t instance) {
    const bool repeats = is_repeatable(instance);
    for (StraightOperand& operand : line_.operands_of(line_.instructions[instance])) {
      if (operand.memory != memory_ || line_.tile_of(operand).placed) continue;
      TileState& state = state_of(operand.tile);
      state.was_touched = true;
      if (operand.reads()) state.was_read = true;
      if (operand.writes()) {
        const TileBox box = box_of(line_, line_.whole(operand));
        state.written = bounding(state.written, box);
        state.unsaved = bounding(state.unsaved, box);
        state.is_repeatable = state.is_repeatable && repeats;
        state.writers.push_back(instance);
      }
      if (operand.tile != state.now) move_to_tile(line_, operand, state.now);
    }
  }

  /// Whether an instance depends on nothing that the program changes.
  bool is_repeatable(uint32_t instance) const {
    const StraightInstruction& writer = line_.instructions[instance];
    const auto operands = line_.operands_of(writer);
    if (writer.instruction.type == &kMemset) return true;
    if (writer.instruction.type != &kDmaCopy) return false;
    const StraightOperand& source = operands[DmaCopy::kSrc];
    const Operand& pattern = line_.pattern_of(source);
    return source.memory == MemoryKind::kHbm && !pattern.indirect && pattern.register_index < 0 &&
           !has_operand(operands, DmaCopy::kIndex) && !operands[DmaCopy::kDst].reads() &&
           !written_[static_cast<size_t>(source.tile)];
  }

  /// The tile's next use is after `instance`; without one it leaves for good.
  void advance(TileId tile, uint32_t instance) {
    TileState& state = state_of(tile);
    const auto uses = uses_.of(tile);
    while (state.next < uses.size() && uses[state.next].instance <= instance) ++state.next;
    state.last_use = instance;
    if (state.next == uses.size()) {
      live_ -= size_of(tile);
      state.is_resident = false;
    } else {
      residents_.insert({uses[state.next].instance, tile});
    }
  }

  /// The program order with the copies.
  void insert() {
    std::vector<StraightInstruction> instructions;
    for (size_t i = 0; i < removed_.size(); ++i) {
      std::copy(before_[i].begin(), before_[i].end(), std::back_inserter(instructions));
      if (!removed_[i]) instructions.push_back(line_.instructions[i]);
      std::copy(after_[i].begin(), after_[i].end(), std::back_inserter(instructions));
    }
    line_.instructions = std::move(instructions);
  }

  StraightLine& line_;
  const MemoryKind memory_;
  const bool keeps_nothing_;
  const int64_t room_;
  int64_t live_ = 0;
  const TileUses uses_;  ///< before any tile moved
  std::vector<TileState> states_;
  std::vector<bool> written_;                        ///< per tile: by any instance
  std::set<std::pair<uint32_t, TileId>> residents_;  ///< next use, tile
  std::vector<bool> removed_;                        ///< instances that another one repeats
  std::vector<std::vector<StraightInstruction>> before_, after_;  ///< per instance
};

}  // namespace

void spill_sbuf(StraightLine& line, int64_t room) { Spilling(line, MemoryKind::kSbuf, room).run(); }

void spill_psum(StraightLine& line, int64_t room) { Spilling(line, MemoryKind::kPsum, room).run(); }

}  // namespace neuron_sim
