#include "device/program/definedness.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

/// Written bytes of one tile (0 or 1 each); released once `complete`.
struct Written {
  bool complete = false;
  bool reported = false;
  int64_t count = 0;
  std::vector<uint8_t> bytes;
};

class Walk {
 public:
  explicit Walk(const Program& program) : program_(program), written_(program.tiles.size()) {}

  int64_t trip_count(const Loop& loop) const {
    return loop.register_index < 0 ? loop.bound : std::min<int64_t>(loop.bound, 1);
  }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }

  void meet(const Meeting& meeting) {
    for (size_t core = 0; core < meeting.instruction.size(); ++core) {
      instruction(static_cast<uint32_t>(meeting.instruction[core]), meeting.variables[core]);
    }
  }

  void instruction(uint32_t index, const int64_t* variables) {
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    for (const bool reads : {true, false}) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        const bool on_chip =
            operand.memory == MemoryKind::kSbuf || operand.memory == MemoryKind::kPsum;
        if (!on_chip || (reads ? !operand.reads() : !operand.writes())) continue;
        visit(index, static_cast<int>(i), operand, variables, reads);
      }
    }
  }

  std::vector<UndefinedRead> result;

 private:
  void visit(uint32_t index, int position, const Operand& operand, const int64_t* variables,
             bool reads) {
    const Location location = locate(program_, operand, variables, registers_.data());
    const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
    Written& written = written_[static_cast<size_t>(location.tile)];
    if (written.complete || (reads && written.reported)) return;
    if (operand.register_index >= 0) {
      // Which bytes is known at run time only: a write may be any of them, a read one of those.
      if (!reads) written = {true, false, 0, {}};
      return;
    }
    if (written.bytes.empty()) {
      written.bytes.resize(static_cast<size_t>(tile.bytes * tile.partitions));
    }
    bool defined = true;
    each_run(tile, operand, location, [&](int64_t first, int64_t length) {
      const auto begin = written.bytes.begin() + first;
      const auto end = begin + length;
      const auto missing = std::count(begin, end, uint8_t{0});
      if (reads) {
        defined = defined && missing == 0;
      } else if (missing > 0) {
        std::fill(begin, end, uint8_t{1});
        written.count += missing;
      }
    });
    written.complete = written.count == static_cast<int64_t>(written.bytes.size());
    if (written.complete) written.bytes = {};
    if (reads && !defined) {
      result.push_back({index, position, location.tile});
      written.reported = true;
    }
  }

  /// Calls run(first byte, length) for the innermost runs of an operand within its tile's bytes
  /// (partition-major).
  template <typename Run>
  static void each_run(const Tile& tile, const Operand& operand, const Location& location,
                       Run&& run) {
    std::array<Dimension, kMaximumFreeDimensions> free = operand.free;
    const auto rank = static_cast<size_t>(operand.rank);
    int64_t length = itemsize(operand.dtype);
    size_t outer = rank;
    while (outer > 0 && (free[outer - 1].stride == length || free[outer - 1].size == 1)) {
      length *= free[--outer].size;
    }
    const int64_t partitions = operand.partition_stride == 0 ? 1 : operand.partitions;
    for (int64_t p = 0; p < partitions; ++p) {
      const int64_t base = (location.partition - tile.start_partition + p) * tile.bytes +
                           location.offset - tile.address;
      std::array<int64_t, kMaximumFreeDimensions> at{};
      while (true) {
        int64_t offset = 0;
        for (size_t d = 0; d < outer; ++d) offset += at[d] * free[d].stride;
        run(base + offset, length);
        size_t d = outer;
        while (d > 0 && ++at[d - 1] == free[d - 1].size) at[--d] = 0;
        if (d == 0) break;
      }
    }
  }

  const Program& program_;
  std::vector<Written> written_;
  std::array<int64_t, 64> registers_{};
};

}  // namespace

std::vector<UndefinedRead> undefined_reads(const Program& program) {
  Walk walk(program);
  Cursor<Walk>(program, walk).walk();
  return walk.result;
}

std::string describe(const Program& program, const UndefinedRead& read) {
  const Instruction& instruction = program.instructions[read.instruction];
  const InstructionType& type = *instruction.type;
  std::string sentence =
      text("'", type.name, "' reads bytes of operand '",
           type.operands[static_cast<size_t>(read.operand)].name, "' (tile '",
           program.tiles[static_cast<size_t>(read.tile)].label, "') that nothing wrote.");
  if (instruction.source_line >= 0) {
    sentence += "\n  at " + program.source_lines[static_cast<size_t>(instruction.source_line)];
  }
  return sentence;
}

}  // namespace neuron_sim
