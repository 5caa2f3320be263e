#include "device/builder/finish_program.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "device/analysis/race_check.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Visits every operand with the loops around it (outermost first).
class OperandWalk {
 public:
  using Visit = void (*)(Program&, const Instruction&, const Operand&,
                         const std::vector<uint32_t>& loops, void* context);
  OperandWalk(Program& program, Visit visit, void* context)
      : program_(program), visit_(visit), context_(context) {}
  void run() {
    for (const Block& block : program_.cores) walk(block);
  }

 private:
  void walk(const Block& block) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kLoop) {
        loops_.push_back(node.index);
        walk(program_.loops[node.index].body);
        loops_.pop_back();
        continue;
      }
      const Instruction& instruction = program_.instructions[node.index];
      for (const Operand& operand : program_.operands_of(instruction)) {
        if (operand.present()) visit_(program_, instruction, operand, loops_, context_);
      }
    }
  }
  Program& program_;
  Visit visit_;
  void* context_;
  std::vector<uint32_t> loops_;
};

void note_period(Program& program, const Operand& operand, const std::vector<uint32_t>& loops) {
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    const Term& term = program.terms[operand.first_term + i];
    if (term.ring_step == 0) continue;
    Loop& loop = program.loops[loops[static_cast<size_t>(term.level)]];
    const int64_t turns = operand.ring / std::gcd<int64_t>(operand.ring, term.ring_step);
    loop.period = std::lcm(loop.period, turns);
  }
}

/// How the tiles of a program are used, gathered in one walk.
struct Usage {
  struct Writer {
    Region region;
    bool injective;
  };
  std::vector<std::vector<Writer>> writers;
  std::vector<bool> read, matmul_operand, other_dtype, barrier;
  std::vector<bool> rewritten;  ///< some bytes certainly more than once; then `writers` has few
};

void note_usage(Program& program, const Instruction& instruction, const Operand& operand,
                const std::vector<uint32_t>& loops, void* context) {
  Usage& usage = *static_cast<Usage*>(context);
  note_period(program, operand, loops);
  if (instruction.type->synchronises == Synchronisation::kBarrier) {
    usage.barrier[static_cast<size_t>(operand.tile)] = true;  // moves no bytes
    return;
  }
  for (int i = 0; i < operand.ring; ++i) {
    const size_t tile = static_cast<size_t>(operand.tile) + static_cast<size_t>(i);
    if (operand.reads()) usage.read[tile] = true;
    if (operand.dtype != program.tiles[tile].dtype) usage.other_dtype[tile] = true;
    const Demand& demand = program.demands[instruction.demand];
    if (demand.multiply_accumulates > 0 && operand.direction == Direction::kRead) {
      usage.matmul_operand[tile] = true;
    }
  }
  const auto tile = static_cast<size_t>(operand.tile);
  if (!operand.writes() || operand.memory != MemoryKind::kHbm || usage.rewritten[tile]) return;
  std::vector<Repetition> repetitions{{operand.partition_stride, operand.partitions}};
  for (int i = 0; i < operand.rank; ++i) {
    repetitions.push_back(
        {operand.free[static_cast<size_t>(i)].stride, operand.free[static_cast<size_t>(i)].size});
  }
  for (const uint32_t loop : loops) {
    int64_t step = 0;
    for (uint8_t i = 0; i < operand.term_count; ++i) {
      const Term& term = program.terms[operand.first_term + i];
      if (term.level == program.loops[loop].level) step = term.offset_step;
    }
    repetitions.push_back({step, program.loops[loop].bound});
  }
  const int64_t element = itemsize(operand.dtype);
  const bool fixed = !operand.indirect && operand.register_index < 0;
  std::vector<Usage::Writer>& writers = usage.writers[tile];
  writers.push_back({region_of(operand.offset, element, repetitions),
                     fixed && is_injective(element, repetitions)});
  // Unrolled loops may write the same bytes again and again; no more writers are kept.
  usage.rewritten[tile] = !writers.back().injective ||
                          (writers.size() > 1 && overlap(writers[0].region, writers.back().region));
}

/// Written so that no byte is written twice, and never read.
bool written_once(std::vector<Usage::Writer> writers) {
  std::sort(writers.begin(), writers.end(), [](const Usage::Writer& a, const Usage::Writer& b) {
    return a.region.low < b.region.low;
  });
  for (size_t i = 0; i < writers.size(); ++i) {
    if (!writers[i].injective) return false;
    const int64_t end = writers[i].region.high();
    for (size_t j = i + 1; j < writers.size() && writers[j].region.low < end; ++j) {
      if (overlap(writers[i].region, writers[j].region)) return false;
    }
  }
  return true;
}

void group_hbm(Program& program, const Usage& usage) {
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    Tile& tile = program.tiles[i];
    if (tile.memory != MemoryKind::kHbm) continue;
    const bool written = !usage.writers[i].empty();
    if (tile.argument >= 0) {
      program.arguments[static_cast<size_t>(tile.argument)].read = usage.read[i];
      program.arguments[static_cast<size_t>(tile.argument)].written = written;
    }
    require(!(written && tile.constant >= 0), "a constant is never written");
    // A barrier waits for the accesses before it, and those after it wait for the barrier.
    const bool alone = !usage.read[i] && !usage.barrier[i];
    if (!written || (alone && !usage.rewritten[i] && written_once(usage.writers[i]))) continue;
    tile.hazard_group = program.hazard_groups++;
  }
}

/// Tiles of a compiled program, tens of thousands, share their first bytes with many others: only
/// these places are sorted.
void group_on_chip(Program& program) {
  const auto place_of = [](const Tile& tile) {
    return uint64_t{tile.core} << 56 | static_cast<uint64_t>(tile.memory) << 48 |
           static_cast<uint64_t>(tile.address);
  };
  std::unordered_map<uint64_t, uint64_t> ends;  // by place, then its group
  for (const Tile& tile : program.tiles) {
    if (tile.memory == MemoryKind::kHbm) continue;
    uint64_t& end = ends[place_of(tile)];
    end = std::max(end, place_of(tile) + static_cast<uint64_t>(tile.bytes));
  }
  std::vector<std::pair<uint64_t, uint64_t>> order(ends.begin(), ends.end());
  std::sort(order.begin(), order.end());
  uint64_t end = 0;
  for (const auto& [place, last] : order) {
    if (place >= end) ++program.hazard_groups;
    end = std::max(end, last);
    ends[place] = static_cast<uint64_t>(program.hazard_groups) - 1;
  }
  for (Tile& tile : program.tiles) {
    if (tile.memory == MemoryKind::kHbm) continue;
    tile.hazard_group = static_cast<int32_t>(ends[place_of(tile)]);
  }
}

void choose_widened(Program& program, const Usage& usage) {
  struct Group {
    bool needed = false, uniform = true;
    Dtype dtype{};
    int tiles = 0;
  };
  std::vector<Group> groups(static_cast<size_t>(program.hazard_groups));
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const Tile& tile = program.tiles[i];
    if (tile.memory != MemoryKind::kSbuf) continue;
    Group& group = groups[static_cast<size_t>(tile.hazard_group)];
    if (group.tiles++ == 0) group.dtype = tile.dtype;
    // Bytes written under another dtype have no fp32 copy; nc_matmul then widens by itself.
    if (tile.dtype != group.dtype || usage.other_dtype[i]) group.uniform = false;
    if (usage.matmul_operand[i] && is_low_precision(tile.dtype)) group.needed = true;
  }
  for (Tile& tile : program.tiles) {
    if (tile.memory != MemoryKind::kSbuf) continue;
    const Group& group = groups[static_cast<size_t>(tile.hazard_group)];
    tile.widened = group.needed && group.uniform;
  }
}

}  // namespace

void finish_program(Program& program) {
  std::sort(program.edges.begin(), program.edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.consumer, a.producer) < std::tie(b.consumer, b.producer);
  });
  program.edges.erase(std::unique(program.edges.begin(), program.edges.end()), program.edges.end());
  Usage usage;
  usage.writers.resize(program.tiles.size());
  usage.read.resize(program.tiles.size());
  usage.matmul_operand.resize(program.tiles.size());
  usage.other_dtype.resize(program.tiles.size());
  usage.barrier.resize(program.tiles.size());
  usage.rewritten.resize(program.tiles.size());
  OperandWalk(program, note_usage, &usage).run();
  program.hazard_groups = 0;
  group_hbm(program, usage);
  group_on_chip(program);
  choose_widened(program, usage);
  check_races(program);
}

}  // namespace neuron_sim
