#include "device/compiler/middle_end/split_over_cores.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "device/compiler/line/dependences.h"
#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

constexpr uint8_t kFirstCore = 1, kSecondCore = 2, kBothCores = kFirstCore | kSecondCore;

const StraightOperand* stored_operand(const StraightLine& line,
                                      const StraightInstruction& instance) {
  const auto operands = line.operands_of(instance);
  const auto stored =
      std::find_if(operands.begin(), operands.end(), [](const StraightOperand& each) {
        return each.memory == MemoryKind::kHbm && each.writes();
      });
  return stored == operands.end() ? nullptr : &*stored;
}

/// Whether the instance adds up in registers of its engine, which the passes do not split.
bool accumulates(const StraightLine& line, const StraightInstruction& instance) {
  const auto operands = line.operands_of(instance);
  return std::any_of(operands.begin(), operands.end(), [](const StraightOperand& each) {
    return each.memory == MemoryKind::kAccumulator;
  });
}

/// Whether a tensor in HBM is read and written.
bool loads_what_it_stores(const StraightLine& line) {
  std::vector<bool> read(line.tiles.size()), written(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    for (const StraightOperand& operand : line.operands_of(instance)) {
      if (operand.memory != MemoryKind::kHbm) continue;
      const auto tile = static_cast<size_t>(operand.tile);
      if (operand.reads()) read[tile] = true;
      if (operand.writes()) written[tile] = true;
      if (read[tile] && written[tile]) return true;
    }
  }
  return false;
}

bool meets_others(const StraightLine& line) {
  return std::any_of(line.instructions.begin(), line.instructions.end(),
                     [](const StraightInstruction& instance) {
                       return is_meeting(instance) || is_collective(instance);
                     });
}

/// The stores by the line of the kernel, or else the statement, that they belong to.
std::map<std::pair<int32_t, uint32_t>, std::vector<uint32_t>> stores_by_line(
    const StraightLine& line) {
  std::map<std::pair<int32_t, uint32_t>, std::vector<uint32_t>> stores;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const StraightInstruction& instance = line.instructions[i];
    if (stored_operand(line, instance) == nullptr) continue;
    const int32_t source = instance.instruction.source_line;
    stores[{source, source < 0 ? instance.statement : 0}].push_back(i);
  }
  return stores;
}

/// Gives each core its half of the stores of every line. False when a line stores once.
bool share_stores(const StraightLine& line, std::vector<uint8_t>& cores) {
  for (auto& [source, stores] : stores_by_line(line)) {
    if (stores.size() < 2) return false;
    const auto place = [&](uint32_t store) {
      const StraightOperand& operand = *stored_operand(line, line.instructions[store]);
      return std::pair(operand.tile, line.region_of(operand).low);
    };
    std::stable_sort(stores.begin(), stores.end(),
                     [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
    const size_t half = (stores.size() + 1) / 2;
    for (size_t i = 0; i < stores.size(); ++i) {
      cores[stores[i]] = i < half ? kFirstCore : kSecondCore;
    }
  }
  return true;
}

/// Whether an instance reads what another one wrote; the others only wait for its place.
bool feeds(const StraightLine& line, size_t producer, size_t consumer) {
  const auto written = line.operands_of(line.instructions[producer]);
  const auto read = line.operands_of(line.instructions[consumer]);
  return std::any_of(read.begin(), read.end(), [&](const StraightOperand& use) {
    return use.present() && use.reads() &&
           std::any_of(written.begin(), written.end(), [&](const StraightOperand& result) {
             return result.present() && result.writes() && result.tile == use.tile &&
                    overlap(line.region_of(result), line.region_of(use));
           });
  });
}

/// The cores that run each instance, none what no store needs; empty when the program stays on one.
std::vector<uint8_t> cores_of_instances(const StraightLine& line) {
  std::vector<uint8_t> cores(line.instructions.size());
  if (meets_others(line) || loads_what_it_stores(line) || !share_stores(line, cores)) return {};
  const Dependences dependences(line);
  bool gains = false;
  for (size_t i = cores.size(); i-- > 0;) {
    const bool is_store = stored_operand(line, line.instructions[i]) != nullptr;
    if (is_store && cores[i] == kBothCores) return {};
    if (cores[i] != 0 && accumulates(line, line.instructions[i])) cores[i] = kBothCores;
    gains = gains || (!is_store && (cores[i] == kFirstCore || cores[i] == kSecondCore));
    for (const uint32_t source : dependences.of(static_cast<uint32_t>(i))) {
      if (feeds(line, source, i)) cores[source] |= cores[i];
    }
  }
  return gains ? cores : std::vector<uint8_t>{};
}

void move_to_core(StraightLine& line, size_t core) {
  for (Tile& tile : line.tiles) {
    if (tile.memory != MemoryKind::kHbm) tile.core = static_cast<uint8_t>(core);
  }
  for (StraightInstruction& instance : line.instructions) {
    instance.instruction.core = static_cast<uint8_t>(core);
  }
}

/// Leaves the instances of a core. What would be computed again in the kernel's loops shows in the
/// order in which both cores' instances stand there.
void keep_instances(StraightLine& line, const std::vector<uint8_t>& cores, size_t core) {
  std::map<uint32_t, bool> lacks_latest;  // by statement
  size_t kept = 0;
  for (size_t i = 0; i < cores.size(); ++i) {
    StraightInstruction instance = line.instructions[i];
    const bool stays = (cores[i] >> core & 1) != 0;
    instance.follows_other_core = std::exchange(lacks_latest[instance.statement], !stays);
    if (stays) line.instructions[kept++] = instance;
  }
  line.instructions.resize(kept);
}

}  // namespace

bool can_be_split(const Program& program) {
  return program.cores.size() == 1 && program.architecture->limits.logical_cores > 1;
}

void split_over_cores(StraightLine& line, size_t core) {
  const std::vector<uint8_t> cores = cores_of_instances(line);
  if (cores.empty()) {
    if (core > 0) line.instructions.clear();
    return;
  }
  keep_instances(line, cores, core);
  line.is_copy_of_first = core > 0;
  if (core > 0) move_to_core(line, core);
}

}  // namespace neuron_sim
