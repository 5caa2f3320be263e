#include "device/compiler/verify.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <set>

#include "device/analysis/access_runs.h"
#include "device/analysis/definedness.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

#ifdef NDEBUG
std::atomic<bool> verifies = false;
#else
std::atomic<bool> verifies = true;
#endif

/// Identifies an instance before and after a pass.
struct Identity {
  uint32_t statement = 0;
  std::array<int32_t, kMaximumLoopDepth> iteration{};
  auto operator<=>(const Identity&) const = default;
};

Identity identity_of(const StraightLine& line, const StraightInstruction& instance) {
  return {instance.statement, line.nest_of(instance).iteration};
}

class Verification {
 public:
  Verification(const Pass& pass, const StraightLine& before, const StraightLine& after)
      : pass_(pass), before_(before), after_(after) {}

  void run() const {
    check_operands();
    check_definedness();
    check_edges();
    if (pass_.keeps.stores) check_stores();
    if (pass_.keeps.order) check_order();
    if (pass_.keeps.instances) check_instances();
    if (pass_.keeps.places) check_places();
  }

 private:
  [[noreturn]] void complain(const StraightInstruction& instance, const std::string& what) const {
    fail_with(text("'", instance.instruction.type->name, "' of statement ", instance.statement, " ",
                   what));
  }
  [[noreturn]] void fail_with(const std::string& what) const {
    throw SimulatorBug(text("neuron_sim bug: after pass '", pass_.name, "' ", what, "."));
  }

  void check_operands() const {
    for (const StraightInstruction& instance : after_.instructions) {
      if (instance.instruction.demand >= after_.demands.size()) {
        complain(instance, "has no demand");
      }
      for (const Operand& operand : after_.whole_operands_of(instance)) {
        if (operand.present() && !is_inside(operand)) {
          complain(instance, "has an operand outside its tile");
        }
      }
    }
  }

  bool is_inside(const Operand& operand) const {
    if (operand.tile < 0 || operand.tile >= std::ssize(after_.tiles)) return false;
    const Tile& tile = after_.tile_of(operand);
    const Region& region = operand.region;
    if (operand.memory != tile.memory) return false;
    if (tile.memory == MemoryKind::kHbm) return region.low >= 0 && region.high() <= tile.bytes;
    return region.low >= tile.address && region.high() <= tile.address + tile.bytes &&
           region.partition >= tile.start_partition &&
           region.partition + region.partitions <= tile.start_partition + tile.partitions;
  }

  void check_definedness() const {
    const std::shared_ptr<const Program> program = lower(after_);
    const std::vector<UndefinedRead> reads = undefined_reads(*program);
    if (reads.empty()) return;
    std::set<std::string> known;  // labels, which versions share with the kernel's tile
    const std::shared_ptr<const Program> earlier = lower(before_);
    for (const UndefinedRead& read : undefined_reads(*earlier)) {
      known.insert(earlier->tiles[static_cast<size_t>(read.tile)].label);
    }
    for (const UndefinedRead& read : reads) {
      const std::string& label = program->tiles[static_cast<size_t>(read.tile)].label;
      if (known.count(label) > 0 || is_saved(read.instruction)) continue;
      complain(after_.instructions[read.instruction],
               text("reads bytes of tile '", label, "' that nothing wrote"));
    }
  }

  /// Whether an instance saves a tile that is spilled, with whatever lies between the bytes that
  /// were written.
  bool is_saved(uint32_t instance) const {
    const TileId target = after_.operands_of(after_.instructions[instance])[0].tile;
    return pass_.stage == Stage::kSpills && target >= std::ssize(before_.tiles);
  }

  /// Instances that are left still come after those that they waited for.
  void check_edges() const {
    if (before_.edges.empty()) return;
    std::map<Identity, size_t> position;
    for (size_t i = 0; i < after_.instructions.size(); ++i) {
      position.emplace(identity_of(after_, after_.instructions[i]), i);
    }
    std::map<uint32_t, const StraightInstruction*> last;  // by statement
    for (const StraightInstruction& instance : before_.instructions) {
      for (const Edge& edge : before_.edges) {
        const auto producer = last.find(edge.producer);
        if (edge.consumer != instance.statement || producer == last.end()) continue;
        const auto own = position.find(identity_of(before_, instance));
        const auto awaited = position.find(identity_of(before_, *producer->second));
        if (own == position.end() || awaited == position.end()) continue;
        if (awaited->second > own->second) {
          complain(instance, text("comes before the instance of statement ", edge.producer,
                                  " that it has an edge from"));
        }
      }
      last[instance.statement] = &instance;
    }
  }

  static std::map<TileId, int64_t> stored_bytes(const StraightLine& line) {
    std::map<TileId, int64_t> bytes;
    for (const StraightInstruction& instance : line.instructions) {
      for (const Operand& operand : line.whole_operands_of(instance)) {
        if (operand.memory != MemoryKind::kHbm || !operand.writes()) continue;
        if (line.tile_of(operand).argument < 0) continue;
        bytes[operand.tile] += elements_of(operand) * itemsize(operand.dtype);
      }
    }
    return bytes;
  }

  void check_stores() const {
    const std::map<TileId, int64_t> before = stored_bytes(before_), after = stored_bytes(after_);
    for (const auto& [tile, bytes] : before) {
      const auto found = after.find(tile);
      const int64_t now = found == after.end() ? 0 : found->second;
      if (now == bytes) continue;
      fail_with(text(now, " bytes are stored to '", after_.tiles[static_cast<size_t>(tile)].label,
                     "' instead of ", bytes));
    }
  }

  /// One instance may have become several in its place.
  void check_order() const {
    auto place = before_.instructions.begin();
    for (const StraightInstruction& instance : after_.instructions) {
      place = std::find_if(place, before_.instructions.end(), [&](const auto& each) {
        return identity_of(before_, each) == identity_of(after_, instance);
      });
      if (place == before_.instructions.end()) complain(instance, "has left the program order");
    }
  }

  void check_instances() const {
    std::map<Identity, int> missing;
    for (const StraightInstruction& instance : before_.instructions) {
      ++missing[identity_of(before_, instance)];
    }
    for (const StraightInstruction& instance : after_.instructions) {
      if (--missing[identity_of(after_, instance)] < 0) complain(instance, "is new");
    }
    for (const StraightInstruction& instance : before_.instructions) {
      if (missing[identity_of(before_, instance)] > 0) complain(instance, "is gone");
    }
  }

  void check_places() const {
    for (size_t i = 0; i < before_.tiles.size(); ++i) {
      if (before_.tiles[i].address == after_.tiles[i].address) continue;
      fail_with(text("tile '", after_.tiles[i].label, "' has moved"));
    }
  }

  const Pass& pass_;
  const StraightLine& before_;
  const StraightLine& after_;
};

}  // namespace

bool verifies_passes() { return verifies; }
void verify_passes(bool on) { verifies = on; }

void verify(const Pass& pass, const StraightLine& before, const StraightLine& after) {
  Verification(pass, before, after).run();
}

}  // namespace neuron_sim
