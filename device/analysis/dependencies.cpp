#include "device/analysis/dependencies.h"

#include <algorithm>
#include <array>

#include "device/analysis/hazard_groups.h"
#include "device/analysis/instance_history.h"
#include "device/analysis/tile_history.h"
#include "device/base/errors.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

/// Visits one core.
class DependencyWalk : public EveryIteration {
 public:
  explicit DependencyWalk(const Program& program)
      : program_(program),
        histories_(histories_of_hazard_groups<TileHistory<Instances>>(program)) {}

  int64_t trip_count(const Loop& loop) const {
    if (loop.register_index < 0) return loop.trip_count;
    fail(text("the dependencies of kernel '", program_.kernel,
              "' depend on data: a loop has its trip count in a register."));
  }
  void meet(const Meeting&) const { require(false, "one core meets nobody"); }

  void instruction(uint32_t index, const int64_t* variables) {
    static constexpr int64_t kNoRegisters[64] = {};
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    std::array<Region, kMaximumOperands> regions;
    std::array<TileHistory<Instances>*, kMaximumOperands> histories{};
    std::vector<uint32_t> producers;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      const Location location = locate(program_, operands[i], variables, kNoRegisters);
      const int32_t group = program_.tiles[static_cast<size_t>(location.tile)].hazard_group;
      if (group < 0) continue;
      histories[i] = &histories_[static_cast<size_t>(group)];
      regions[i] = region_at(operands[i], location);
      collect(instruction, operands[i], *histories[i], regions[i], producers);
    }
    const Instances own{{static_cast<uint32_t>(result.size())}};
    for (size_t i = 0; i < operands.size(); ++i) {
      if (histories[i] == nullptr) continue;
      histories[i]->record(regions[i], operands[i].writes(), slot(instruction), own);
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    result.push_back(std::move(producers));
  }

  std::vector<std::vector<uint32_t>> result;

 private:
  bool transfers(const Instruction& instruction) const {
    return program_.demands[instruction.demand].steps[0].unit == Unit::kDma;
  }
  Slot slot(const Instruction& instruction) const {
    return transfers(instruction) ? queue_of(instruction.engine) : slot_of(instruction.engine);
  }

  void collect(const Instruction& instruction, const Operand& operand,
               const TileHistory<Instances>& history, const Region& region,
               std::vector<uint32_t>& producers) const {
    const bool dma = transfers(instruction);
    const Slot own = slot_of(instruction.engine);
    const auto edge = [&](const HistoryEntry<Instances>& entry, bool is_write) {
      const bool in_order = entry.slot == own && !dma;
      if (in_order && (own == slot_of(EngineKind::kTensor) || !is_write || !operand.reads()))
        return;
      const auto& ids = entry.stamp.ids;
      producers.insert(producers.end(), ids.begin(), ids.end());
    };
    history.collect(region, operand.reads(), operand.writes(), edge);
  }

  const Program& program_;
  std::vector<TileHistory<Instances>> histories_;
};

}  // namespace

std::vector<std::vector<uint32_t>> dependencies(const Program& program) {
  if (program.cores.size() > 1) {
    fail(text("the dependencies of kernel '", program.kernel, "' span ", program.cores.size(),
              " cores; those of one core are known."));
  }
  DependencyWalk walk(program);
  Cursor<DependencyWalk>(program, walk).walk();
  return std::move(walk.result);
}

}  // namespace neuron_sim
