#include "device/analysis/definedness.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

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

/// Bytes of a tensor, as the fewest ranges.
class ByteRanges {
 public:
  void add(int64_t first, int64_t last) {
    auto next = ends_.upper_bound(first);
    if (next != ends_.begin() && std::prev(next)->second >= first) {
      const auto before = std::prev(next);
      first = before->first;
      last = std::max(last, before->second);
      ends_.erase(before);
    }
    while (next != ends_.end() && next->first <= last) {
      last = std::max(last, next->second);
      next = ends_.erase(next);
    }
    ends_.emplace_hint(next, first, last);
  }
  bool holds(int64_t first, int64_t last) const {
    const auto next = ends_.upper_bound(first);
    return next != ends_.begin() && std::prev(next)->second >= last;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // by the first byte
};

/// The written bytes of one tile. Instructions access the same bytes in all their partitions, so a
/// few bands, mostly one, describe them.
struct Written {
  bool complete = false;
  bool reported = false;
  std::vector<Band> bands;  ///< ascending, without gaps; none before the first access
  Region latest = {};       ///< on chip: of the last access whose bytes are known exactly
  ByteRanges ranges;        ///< of a tensor, instead of bands

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

/// What is known about accesses that depend on data.
enum class OfData : uint8_t {
  kTrusted,  ///< they touch only bytes that are or become defined
  kWorst     ///< writes touch nothing, reads everything; scratch tensors are walked too
};

/// Per instruction: whether data decides how often it runs.
void note_repeated_by_data(const Program& program, const Block& block, bool by_data,
                           std::vector<bool>& result) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      note_repeated_by_data(program, loop.body, by_data || loop.register_index >= 0, result);
    } else {
      result[node.index] = by_data;
    }
  }
}

class DefinednessWalk : public WalkWithoutData {
 public:
  DefinednessWalk(const Program& program, OfData of_data)
      : program_(program),
        of_data_(of_data),
        written_(program.tiles.size()),
        by_data_(program.instructions.size()) {
    if (of_data == OfData::kTrusted || !program.uses_registers) return;
    for (const Block& block : program.cores) note_repeated_by_data(program, block, false, by_data_);
  }

  void meet(const Meeting& meeting) { visit_meeting(meeting, *this); }
  void instruction(uint32_t index, const int64_t* variables) {
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    for (const bool reads : {true, false}) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (!is_walked(operand) || (reads ? !operand.reads() : !operand.writes())) continue;
        visit(index, static_cast<int>(i), operand, variables, reads);
      }
    }
  }

  std::vector<UndefinedRead> result;

 private:
  bool is_walked(const Operand& operand) const {
    if (operand.memory == MemoryKind::kSbuf || operand.memory == MemoryKind::kPsum) return true;
    return operand.memory == MemoryKind::kHbm && of_data_ == OfData::kWorst &&
           program_.tiles[static_cast<size_t>(operand.tile)].scratch >= 0;
  }

  /// Whether data decides about the access, beyond its address.
  bool is_by_data(uint32_t index, const Operand& operand, bool reads) const {
    if (of_data_ == OfData::kTrusted) return false;
    if (by_data_[index] || operand.indirect) return true;
    if (reads) return false;
    const Instruction& instruction = program_.instructions[index];
    const int skips = instruction.type->oob_skip_attribute;
    // What a collective writes also depends on the other ranks.
    return instruction.type->synchronises == Synchronisation::kCollective ||
           (skips >= 0 && program_.attributes_of(instruction)[static_cast<size_t>(skips)].flag());
  }

  void visit(uint32_t index, int position, const Operand& operand, const int64_t* variables,
             bool reads) {
    if (operand.ring == 1 && written_[static_cast<size_t>(operand.tile)].complete) return;
    const Location location = locate(program_, operand, variables, registers_.data());
    const Tile& tile = program_.tiles[static_cast<size_t>(location.tile)];
    Written& written = written_[static_cast<size_t>(location.tile)];
    if (written.complete || (reads && written.reported)) return;
    const auto report = [&] {
      result.push_back({index, position, location.tile});
      written.reported = true;
    };
    if (operand.register_index >= 0 || is_by_data(index, operand, reads)) {
      // The bytes are known only at run time.
      const bool trusted = of_data_ == OfData::kTrusted;
      if (!reads && trusted) written.complete = true;
      if (reads && !trusted) report();
      return;
    }
    const int64_t base = location.offset - (operand.memory == MemoryKind::kHbm ? 0 : tile.address);
    if (operand.memory == MemoryKind::kHbm) {
      if (!reads) return write_tensor(written, tile, operand, base);
      if (!is_tensor_defined(written, operand, base)) report();
      return;
    }
    // Most instructions access what the one before accessed, whose bytes are defined by now.
    const Region region = region_at(operand, location);
    if (region == written.latest) return;
    if (region.exact) written.latest = region;
    if (written.bands.empty()) written.bands.push_back({0, tile.partitions});
    const int64_t first = location.partition - tile.start_partition;
    const int64_t last = first + (operand.partition_stride == 0 ? 1 : operand.partitions);
    if (!reads) return write(written, tile, operand, first, last, base);
    const auto is_undefined = [&](const Band& band) {
      return band.first < last && first < band.last && !is_defined(band, tile, operand, base);
    };
    if (std::any_of(written.bands.begin(), written.bands.end(), is_undefined)) report();
  }

  /// Calls run(first byte, length) for the runs of an operand of a tensor.
  template <typename Run>
  static void each_run(const Operand& operand, int64_t base, Run&& run) {
    for (int64_t p = 0; p < operand.partitions; ++p) {
      each_free_run(operand, base + p * operand.partition_stride, run);
    }
  }

  static void write_tensor(Written& written, const Tile& tile, const Operand& operand,
                           int64_t base) {
    each_run(operand, base,
             [&](int64_t begin, int64_t length) { written.ranges.add(begin, begin + length); });
    written.complete = written.ranges.holds(0, tile.bytes);
    if (written.complete) written.ranges = {};
  }

  static bool is_tensor_defined(const Written& written, const Operand& operand, int64_t base) {
    bool defined = true;
    each_run(operand, base, [&](int64_t begin, int64_t length) {
      defined = defined && written.ranges.holds(begin, begin + length);
    });
    return defined;
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
  OfData of_data_;
  std::vector<Written> written_;
  std::vector<bool> by_data_;
  std::array<int64_t, 64> registers_{};
};

std::vector<UndefinedRead> walked(const Program& program, OfData of_data) {
  DefinednessWalk walk(program, of_data);
  Cursor<DefinednessWalk>(program, walk).walk();
  return std::move(walk.result);
}

}  // namespace

std::vector<UndefinedRead> undefined_reads(const Program& program) {
  return walked(program, OfData::kTrusted);
}

std::vector<TileId> possibly_undefined_tiles(const Program& program) {
  std::vector<TileId> tiles;
  for (const UndefinedRead& read : walked(program, OfData::kWorst)) tiles.push_back(read.tile);
  std::sort(tiles.begin(), tiles.end());
  return tiles;
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
