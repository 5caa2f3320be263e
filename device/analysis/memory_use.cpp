#include "device/analysis/memory_use.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "device/analysis/tile_lifetimes.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// The tiles of one tensor that are of one size.
struct Row {
  int64_t tiles = 0, at_peak = 0;
  uint32_t first = UINT32_MAX, last = 0, longest = 0;
};

class MemoryTable {
 public:
  MemoryTable(const Program& program, MemoryKind memory, uint8_t core) : program_(program) {
    for (size_t i = 0; i < program.tiles.size(); ++i) {
      const Tile& tile = program.tiles[i];
      if (tile.memory != memory || tile.core != core || tile.bytes == 0) continue;
      tiles_.push_back({static_cast<TileId>(i), 1, tile.bytes, {}, -1});
    }
    lifetimes_ = tile_lifetimes(program, tiles_);
    std::vector<size_t> used;
    for (size_t i = 0; i < tiles_.size(); ++i) {
      if (lifetimes_.of[i].used()) used.push_back(i);
    }
    peak_ = live_peak(tiles_, lifetimes_, used);
  }

  std::string text_of(std::string_view memory, int64_t capacity) const {
    if (peak_.bytes == 0) return "";
    std::string result = text(memory, ": ", capacity, " bytes per partition, at most ", peak_.bytes,
                              " live, at position ", peak_.position, place_of_peak(), "\n");
    for (const auto& [key, row] : rows()) {
      const auto& [first, tensor, bytes] = key;
      result +=
          text("  '", tensor, "': ", row.tiles, " of ", bytes, " bytes, positions ", row.first,
               " to ", row.last, ", each at most ", row.longest, ", ", row.at_peak, " live then\n");
    }
    return result;
  }

 private:
  /// By first use.
  std::map<std::tuple<uint32_t, std::string, int64_t>, Row> rows() const {
    std::map<std::pair<std::string, int64_t>, Row> by_tensor;
    for (size_t i = 0; i < tiles_.size(); ++i) {
      const Lifetime& life = lifetimes_.of[i];
      if (!life.used()) continue;
      const std::string& label = program_.tiles[static_cast<size_t>(tiles_[i].first)].label;
      Row& row = by_tensor[{tensor_of(label), tiles_[i].pitch}];
      ++row.tiles;
      row.at_peak += life.first <= peak_.position && peak_.position <= life.last ? 1 : 0;
      row.first = std::min(row.first, life.first);
      row.last = std::max(row.last, life.last);
      row.longest = std::max(row.longest, life.last - life.first + 1);
    }
    std::map<std::tuple<uint32_t, std::string, int64_t>, Row> result;
    for (const auto& [key, row] : by_tensor) result[{row.first, key.first, key.second}] = row;
    return result;
  }

  std::string place_of_peak() const {
    const uint32_t index = lifetimes_.instructions[peak_.position];
    if (index == UINT32_MAX) return " (a loop)";
    const Instruction& instruction = program_.instructions[index];
    const std::string name = text(" ('", instruction.type->name, "'");
    if (instruction.source_line < 0) return name + ")";
    return text(name, ", ", program_.source_lines[static_cast<size_t>(instruction.source_line)],
                ")");
  }

  const Program& program_;
  std::vector<UnplacedTile> tiles_;
  TileLifetimes lifetimes_;
  LivePeak peak_;
};

std::string spills_line(const Spills& spills) {
  if (!spills.any()) return "";
  return text("spills: ", spills.saves, " saves of ", spills.save_bytes, " bytes, ", spills.reloads,
              " reloads of ", spills.reload_bytes, " bytes, ", spills.repeated_loads,
              " repeated loads of ", spills.repeated_bytes, " bytes, ", spills.psum_copies,
              " copies of ", spills.psum_bytes, " bytes between PSUM and SBUF\n");
}

}  // namespace

std::string memory_listing(const Program& program) {
  const Limits& limits = program.architecture->limits;
  std::string result =
      text("memory of kernel '", program.kernel, "' on ", program.architecture->name, ":\n");
  for (size_t core = 0; core < program.cores.size(); ++core) {
    if (program.cores.size() > 1) result += text("core ", core, ":\n");
    const auto table = [&](MemoryKind memory) {
      return MemoryTable(program, memory, static_cast<uint8_t>(core));
    };
    result += table(MemoryKind::kSbuf).text_of("sbuf", limits.sbuf_usable.count);
    result += table(MemoryKind::kPsum).text_of("psum", limits.psum_banks * limits.psum_bank.count);
  }
  return result + spills_line(program.spills);
}

}  // namespace neuron_sim
