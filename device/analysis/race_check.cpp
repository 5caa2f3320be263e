#include "device/analysis/race_check.h"

#include <algorithm>
#include <array>
#include <map>

#include "device/analysis/tile_history.h"
#include "device/base/errors.h"
#include "device/program/cursor.h"
#include "device/program/shared_bytes.h"

namespace neuron_sim {
namespace {

/// The last meeting of the cores that an access waits for, perhaps transitively; 0: none.
struct Behind {
  int64_t meeting = 0;
  void merge(const Behind& other) { meeting = std::max(meeting, other.meeting); }
};

/// One access of one core to a tensor that both use.
struct HbmAccess {
  Region region;
  int64_t offset;  // of its Location
  uint32_t instruction;
  uint32_t operand;  // index into Program::operands
  int64_t behind;    // last meeting before
  int64_t ahead;     // first meeting after

  bool same(const HbmAccess& other) const {
    return operand == other.operand && offset == other.offset && behind == other.behind &&
           ahead == other.ahead;
  }
};

using AccessesByCore = std::array<std::vector<HbmAccess>, kMaximumCores>;

bool decidable(const Operand& operand) { return !operand.indirect && operand.register_index < 0; }

/// Visits both cores; per core engines, histories and the accesses that may race.
class RaceWalk : public EveryIteration {
 public:
  explicit RaceWalk(const Program& program) : program_(program), accesses_(program.tiles.size()) {
    for (auto& core : histories_) core.resize(static_cast<size_t>(program.hazard_groups));
    for (const Edge& edge : program.edges) producers_[edge.producer] = {};
    find_shared();
  }

  int64_t trip_count(const Loop& loop) const {
    return loop.register_index < 0 ? loop.trip_count : 0;
  }

  void instruction(uint32_t index, const int64_t* variables) {
    const Instruction& instruction = program_.instructions[index];
    const Behind behind = order(instruction, variables, 0);
    engine(instruction).merge(behind);
    for (uint32_t i = 0; i < instruction.operand_count; ++i) {
      const uint32_t operand = instruction.first_operand + i;
      const Operand& access = program_.operands[operand];
      if (!access.present() || access.memory != MemoryKind::kHbm || !decidable(access)) continue;
      if (!shared_[static_cast<size_t>(access.tile)]) continue;
      const Location location = locate(program_, access, variables, nullptr);
      const HbmAccess entry{region_at(access, location),
                            location.offset,
                            index,
                            operand,
                            behind.meeting,
                            meetings_ + 1};
      auto& list = accesses_[static_cast<size_t>(access.tile)][instruction.core];
      if (list.empty() || !list.back().same(entry)) list.push_back(entry);
    }
  }

  void meet(const Meeting& meeting) {
    ++meetings_;
    for (int core = 0; core < kMaximumCores; ++core) {
      const Instruction& instruction = meeting.of(program_, core);
      order(instruction, meeting.variables[static_cast<size_t>(core)], meetings_);
      // The DMA queue of an exchange waits, its engine does not.
      const Unit unit = program_.demands[instruction.demand].steps[0].unit;
      if (unit != Unit::kDma) engine(instruction).merge({meetings_});
    }
  }

  void check() const;

 private:
  using Duplicates = std::map<std::pair<int32_t, int64_t>, std::vector<const HbmAccess*>>;

  void find_shared();
  Duplicates writes_of(const std::vector<HbmAccess>& accesses) const;
  bool duplicated(const HbmAccess& write, const HbmAccess& other, const Duplicates& of_other) const;
  int32_t line(const HbmAccess& access) const {
    return program_.instructions[access.instruction].source_line;
  }
  Behind& engine(const Instruction& instruction) {
    return engines_[instruction.core][static_cast<size_t>(instruction.engine)];
  }
  Behind order(const Instruction& instruction, const int64_t* variables, int64_t meeting);
  bool both_take_part(const HbmAccess& first, const HbmAccess& second) const;
  void check(const HbmAccess& first, const HbmAccess& second,
             const std::array<Duplicates, kMaximumCores>& duplicates) const;

  const Program& program_;
  std::vector<bool> shared_;  // tensors that both cores use, and one writes
  std::vector<AccessesByCore> accesses_;
  std::array<std::vector<TileHistory<Behind>>, kMaximumCores> histories_;
  std::array<std::array<Behind, kEngineCount>, kMaximumCores> engines_{};
  std::map<uint32_t, Behind> producers_;  // of edges, by instruction
  int64_t meetings_ = 0;
};

void RaceWalk::find_shared() {
  struct Use {
    std::array<bool, kMaximumCores> used{};
    bool written = false;
  };
  std::vector<Use> uses(program_.tiles.size());
  for (const Instruction& instruction : program_.instructions) {
    if (meets_other_core(instruction.type->synchronises)) continue;
    for (const Operand& operand : program_.operands_of(instruction)) {
      if (!operand.present() || operand.memory != MemoryKind::kHbm) continue;
      Use& use = uses[static_cast<size_t>(operand.tile)];
      use.used[instruction.core] = true;
      use.written = use.written || operand.writes();
    }
  }
  for (const Use& use : uses) shared_.push_back(use.used[0] && use.used[1] && use.written);
}

/// The last meeting the instance waits for within its core; adds it to the histories.
Behind RaceWalk::order(const Instruction& instruction, const int64_t* variables, int64_t meeting) {
  static constexpr int64_t kNoRegisters[64] = {};
  Behind behind = engine(instruction);
  behind.merge({meeting});
  const auto index = static_cast<uint32_t>(&instruction - program_.instructions.data());
  for (const Edge& edge : edges_of(program_, index)) behind.merge(producers_[edge.producer]);
  std::array<Location, kMaximumOperands> locations;
  std::array<TileHistory<Behind>*, kMaximumOperands> histories{};
  const auto operands = program_.operands_of(instruction);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    locations[i] = locate(program_, operands[i], variables, kNoRegisters);
    const int32_t group = program_.tiles[static_cast<size_t>(locations[i].tile)].hazard_group;
    if (group < 0) continue;
    histories[i] = &histories_[instruction.core][static_cast<size_t>(group)];
    histories[i]->collect(
        region_at(operands[i], locations[i]), operands[i].reads(), operands[i].writes(),
        [&](const HistoryEntry<Behind>& entry, bool) { behind.merge(entry.stamp); });
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (histories[i] == nullptr) continue;
    histories[i]->record(region_at(operands[i], locations[i]), operands[i].writes(), 0, behind);
  }
  const auto producer = producers_.find(index);
  if (producer != producers_.end()) producer->second = behind;
  return behind;
}

void RaceWalk::check() const {
  for (const AccessesByCore& cores : accesses_) {
    const std::array<Duplicates, kMaximumCores> duplicates{writes_of(cores[0]),
                                                           writes_of(cores[1])};
    std::vector<const HbmAccess*> second;
    int64_t longest = 0;
    for (const HbmAccess& access : cores[1]) {
      second.push_back(&access);
      longest = std::max(longest, access.region.high() - access.region.low);
    }
    const auto by_low = [](const HbmAccess* a, const HbmAccess* b) {
      return a->region.low < b->region.low;
    };
    std::stable_sort(second.begin(), second.end(), by_low);
    for (const HbmAccess& first : cores[0]) {
      HbmAccess from = first;
      from.region.low -= longest;
      auto other = std::lower_bound(second.begin(), second.end(), &from, by_low);
      for (; other != second.end() && (*other)->region.low < first.region.high(); ++other) {
        check(first, **other, duplicates);
      }
    }
  }
}

/// Both cores take part in one collective on a tensor, which gives both the same bytes: each may
/// read what its own part wrote.
bool RaceWalk::both_take_part(const HbmAccess& first, const HbmAccess& second) const {
  const auto collective = [&](const HbmAccess& access) {
    const InstructionType* type = program_.instructions[access.instruction].type;
    return type->synchronises == Synchronisation::kCollective ? type : nullptr;
  };
  const auto result = [&](const HbmAccess& access) {
    return collective(access) != nullptr && program_.operands[access.operand].writes();
  };
  if (collective(first) != nullptr && collective(first) == collective(second)) return true;
  if (result(first) == result(second)) return false;
  const HbmAccess& other = result(first) ? second : first;
  const Operand& operand = program_.operands[other.operand];
  const uint8_t core = program_.instructions[other.instruction].core;
  const auto& own = accesses_[static_cast<size_t>(operand.tile)][core];
  return !operand.writes() && std::any_of(own.begin(), own.end(), result);
}

/// The writes of one core to a tensor, by source line and offset, in program order.
RaceWalk::Duplicates RaceWalk::writes_of(const std::vector<HbmAccess>& accesses) const {
  Duplicates result;
  for (const HbmAccess& access : accesses) {
    if (!program_.operands[access.operand].writes() || line(access) < 0) continue;
    result[{line(access), access.offset}].push_back(&access);
  }
  return result;
}

/// Whether the core of `other` writes the same bytes from the same source line as `write` of the
/// other core, with `other` itself or before it.
bool RaceWalk::duplicated(const HbmAccess& write, const HbmAccess& other,
                          const Duplicates& of_other) const {
  if (!program_.operands[write.operand].writes()) return false;
  const auto found = of_other.find({line(write), write.offset});
  if (found == of_other.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const HbmAccess* own) {
    return own <= &other && own->region == write.region;
  });
}

void RaceWalk::check(const HbmAccess& first, const HbmAccess& second,
                     const std::array<Duplicates, kMaximumCores>& duplicates) const {
  const Operand& a = program_.operands[first.operand];
  const Operand& b = program_.operands[second.operand];
  if (!a.writes() && !b.writes()) return;
  if (both_take_part(first, second)) return;
  if (first.behind >= second.ahead || second.behind >= first.ahead) return;
  if (!overlap(first.region, second.region)) return;
  const auto shared = shared_bytes(a, {a.tile, 0, first.offset}, b, {b.tile, 0, second.offset});
  if (!shared) return;
  if (duplicated(first, second, duplicates[1]) || duplicated(second, first, duplicates[0])) return;
  std::string lines;
  std::array<std::string_view, kMaximumCores> names;
  for (size_t core = 0; core < kMaximumCores; ++core) {
    const uint32_t index = core == 0 ? first.instruction : second.instruction;
    const Instruction& instruction = program_.instructions[index];
    names[core] = instruction.type->name;
    if (instruction.source_line < 0) continue;
    lines += "\n  at " + program_.source_lines[static_cast<size_t>(instruction.source_line)];
  }
  fail(text("race on tensor '", program_.tiles[static_cast<size_t>(a.tile)].label, "' of kernel '",
            program_.kernel, "': '", names[0], "' of core 0 ", a.writes() ? "writes" : "reads",
            " and '", names[1], "' of core 1 ", b.writes() ? "writes" : "reads", " bytes ",
            shared->begin, " to ", shared->end - 1,
            ", and no core_barrier on the tensor orders them.", lines));
}

bool meets_in_register_loop(const Program& program) {
  return std::any_of(program.loops.begin(), program.loops.end(), [&](const Loop& loop) {
    return loop.register_index >= 0 && synchronises(program, loop.body);
  });
}

}  // namespace

void check_races(const Program& program) {
  const bool meets = std::any_of(program.cores.begin(), program.cores.end(),
                                 [&](const Block& block) { return synchronises(program, block); });
  if (program.cores.size() < 2 && !meets) return;
  if (program.cores.size() == kMaximumCores && meets_in_register_loop(program)) return;
  RaceWalk walk(program);
  Cursor<RaceWalk>(program, walk).walk();
  walk.check();
}

}  // namespace neuron_sim
