#include "device/analysis/definedness.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/base/errors.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

/// Partitions [first, last) of a tile in which the same bytes were written: each 0 or 1; empty when
/// none were, and released when all were.
struct Band {
  int64_t first = 0, last = 0;
  int64_t count = 0;
  std::vector<uint8_t> bytes = {};
};

/// The written bytes of one tile. Instructions access the same bytes in all their partitions, so a
/// few bands, mostly one, describe them.
struct Written {
  bool complete = false;
  bool reported = false;
  std::vector<Band> bands;  ///< ascending, without gaps; none before the first access

  /// Makes a band end at `partition`.
  void split(int64_t partition) {
    for (size_t i = 0; i < bands.size(); ++i) {
      if (bands[i].first >= partition || partition >= bands[i].last) continue;
      Band upper = bands[i];
      bands[i].last = upper.first = partition;
      bands.insert(bands.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(upper));
      return;
    }
  }
};

class DefinednessWalk {
 public:
  explicit DefinednessWalk(const Program& program)
      : program_(program), written_(program.tiles.size()) {}

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
      // The bytes are known only at run time: a write counts for all, a read is not checked.
      if (!reads) written = {true, false, {}};
      return;
    }
    if (written.bands.empty()) written.bands.push_back({0, tile.partitions});
    const int64_t first = location.partition - tile.start_partition;
    const int64_t last = first + (operand.partition_stride == 0 ? 1 : operand.partitions);
    const int64_t base = location.offset - tile.address;
    if (!reads) return write(written, tile, operand, first, last, base);
    for (const Band& band : written.bands) {
      if (band.last <= first || last <= band.first || is_defined(band, tile, operand, base))
        continue;
      result.push_back({index, position, location.tile});
      written.reported = true;
      return;
    }
  }

  static void write(Written& written, const Tile& tile, const Operand& operand, int64_t first,
                    int64_t last, int64_t base) {
    written.split(first);
    written.split(last);
    written.complete = true;
    for (Band& band : written.bands) {
      const bool touched = first <= band.first && band.last <= last && band.count < tile.bytes;
      if (touched) define(band, tile, operand, base);
      written.complete = written.complete && band.count == tile.bytes;
    }
    if (written.complete) written.bands = {};
  }

  static void define(Band& band, const Tile& tile, const Operand& operand, int64_t base) {
    each_free_run(operand, base, [&](int64_t begin, int64_t length) {
      if (length == tile.bytes) band.count = length;
      if (band.count == tile.bytes) return;
      if (band.bytes.empty()) band.bytes.resize(static_cast<size_t>(tile.bytes));
      const auto run = band.bytes.begin() + begin;
      band.count += std::count(run, run + length, uint8_t{0});
      std::fill(run, run + length, uint8_t{1});
    });
    if (band.count == tile.bytes) band.bytes = {};
  }

  static bool is_defined(const Band& band, const Tile& tile, const Operand& operand, int64_t base) {
    if (band.count == 0 || band.count == tile.bytes) return band.count > 0;
    bool defined = true;
    each_free_run(operand, base, [&](int64_t begin, int64_t length) {
      const auto run = band.bytes.begin() + begin;
      defined = defined && std::find(run, run + length, uint8_t{0}) == run + length;
    });
    return defined;
  }

  const Program& program_;
  std::vector<Written> written_;
  std::array<int64_t, 64> registers_{};
};

}  // namespace

std::vector<UndefinedRead> undefined_reads(const Program& program) {
  DefinednessWalk walk(program);
  Cursor<DefinednessWalk>(program, walk).walk();
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
