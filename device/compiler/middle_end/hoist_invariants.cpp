#include "device/compiler/middle_end/hoist_invariants.h"

#include <algorithm>
#include <numeric>

#include "device/base/interruption.h"
#include "device/compiler/batching/stack_instances.h"
#include "device/compiler/line/meetings.h"
#include "device/compiler/tiles/invariant_tiles.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/instruction/instruction_type.h"

namespace neuron_sim {
namespace {

class Hoist {
 public:
  explicit Hoist(StraightLine& line)
      : line_(line),
        first_write_(line.tiles.size(), UINT32_MAX),
        last_write_(line.tiles.size()),
        result_of_(line.tiles.size()),
        removed_(line.instructions.size()) {
    std::iota(result_of_.begin(), result_of_.end(), 0);
    for (uint32_t i = 0; i < line.instructions.size(); ++i) {
      for (const StraightOperand& operand : line.operands_of(line.instructions[i])) {
        if (!operand.present() || !operand.writes()) continue;
        const auto tile = static_cast<size_t>(operand.tile);
        first_write_[tile] = std::min(first_write_[tile], i);
        last_write_[tile] = i;
      }
    }
  }

  void run() {
    uint32_t statements = 0;
    for (const StraightInstruction& instance : line_.instructions) {
      statements = std::max(statements, instance.statement + 1);
    }
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> latest(statements, kNone);
    bool found = false;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      if (found) follow_results(i);
      uint32_t& before = latest[line_.instructions[i].statement];
      const bool again = before != kNone && !line_.instructions[i].follows_other_core &&
                         are_alike(before, i, 0) && is_computation(i) &&
                         computes_the_same(before, i);
      found = found || again;
      if (again) result_of_[static_cast<size_t>(result(i).tile)] = result(before).tile;
      // PSUM has too few banks to keep a result in: only copies from it may be removed.
      removed_[i] = again && result(i).memory == MemoryKind::kSbuf;
      if (!again) before = i;
    }
    if (!found) return;
    remove_unread_products();
    remove_instances(line_, removed_);
  }

 private:
  const StraightOperand& result(uint32_t instance) const {
    return line_.operands_of(line_.instructions[instance])[0];
  }

  /// Reads of results that were removed become reads of the earlier ones.
  void follow_results(uint32_t instance) {
    for (StraightOperand& operand : line_.operands_of(line_.instructions[instance])) {
      if (!operand.present() || operand.direction != Direction::kRead) continue;
      if (operand.memory != MemoryKind::kSbuf) continue;
      const TileId earlier = result_of_[static_cast<size_t>(operand.tile)];
      if (earlier != operand.tile) move_to_tile(line_, operand, earlier);
    }
  }

  /// Products in PSUM that were computed before, when the copies that read them are gone.
  void remove_unread_products() {
    std::vector<bool> read(line_.tiles.size());
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      if (removed_[i]) continue;
      for (const StraightOperand& operand : line_.operands_of(line_.instructions[i])) {
        if (operand.present() && operand.reads()) read[static_cast<size_t>(operand.tile)] = true;
      }
    }
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      if (removed_[i] || !is_computation(i)) continue;
      const auto tile = static_cast<size_t>(result(i).tile);
      removed_[i] = !read[tile] && result_of_[tile] != result(i).tile;
    }
  }

  /// Operand 0 is its only result: a version that nothing else writes.
  bool is_computation(uint32_t index) const {
    const StraightInstruction& instance = line_.instructions[index];
    const auto operands = line_.operands_of(instance);
    const Demand& demand = line_.demands[instance.instruction.demand];
    const Unit unit = demand.steps[0].unit;
    const bool computes = unit != Unit::kDma && unit != Unit::kSequencer && !is_meeting(instance);
    if (operands.empty() || demand.count == 0 || !computes) return false;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      const bool on_chip =
          operands[i].memory == MemoryKind::kSbuf || operands[i].memory == MemoryKind::kPsum;
      const auto wanted = i == 0 ? Direction::kWrite : Direction::kRead;
      if (!on_chip || operands[i].direction != wanted || line_.tile_of(operands[i]).placed) {
        return false;
      }
    }
    const auto tile = static_cast<size_t>(operands[0].tile);
    return operands[0].present() && first_write_[tile] == index && last_write_[tile] == index;
  }

  /// Whether an operand of two instances of a statement lies at the same place within its tile.
  bool are_alike(uint32_t before, uint32_t index, size_t operand) const {
    const auto a = line_.operands_of(line_.instructions[before]),
               b = line_.operands_of(line_.instructions[index]);
    if (a.size() <= operand || b.size() <= operand) return false;
    const StraightOperand &x = a[operand], &y = b[operand];
    return x.present() && y.present() &&
           x.offset - line_.tile_of(x).address == y.offset - line_.tile_of(y).address &&
           x.pattern == y.pattern && x.start_partition == y.start_partition;
  }

  bool computes_the_same(uint32_t before, uint32_t index) const {
    const StraightInstruction& a = line_.instructions[before];
    const StraightInstruction& b = line_.instructions[index];
    const auto x = line_.operands_of(a), y = line_.operands_of(b);
    if (!is_computation(before) || !same_command(line_, a, b) || x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i].present() != y[i].present()) return false;
      if (!x[i].present()) continue;
      if (!are_alike(before, index, i)) return false;
      const Tile& s = line_.tile_of(x[i]);
      const Tile& t = line_.tile_of(y[i]);
      const bool same =
          i == 0 ? s.bytes == t.bytes && s.partitions == t.partitions && s.dtype == t.dtype
                 : holds_the_same(x[i].tile, y[i].tile, before, index);
      if (!same) return false;
    }
    return true;
  }

  /// Whether instance `before` reads the same in tile `x` as `index` does in tile `y`.
  bool holds_the_same(TileId x, TileId y, uint32_t before, uint32_t index) const {
    const auto a = static_cast<size_t>(x), b = static_cast<size_t>(y);
    return result_of_[a] == result_of_[b] && last_write_[a] < before &&
           (x == y || last_write_[b] < index);
  }

  StraightLine& line_;
  std::vector<uint32_t> first_write_, last_write_;  // by tile
  std::vector<TileId> result_of_;                   // by tile: the one that holds its contents
  std::vector<bool> removed_;
};

}  // namespace

void hoist_invariants(StraightLine& line) {
  Hoist(line).run();
  keep_invariant_tiles(line);
}

}  // namespace neuron_sim
