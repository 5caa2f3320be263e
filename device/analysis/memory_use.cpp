#include "device/analysis/memory_use.h"

#include "device/analysis/tile_table.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// The tiles of one memory of one core; empty without any.
std::string table_of(const Program& program, MemoryKind memory, uint8_t core, int64_t capacity) {
  std::vector<UnplacedTile> tiles;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const Tile& tile = program.tiles[i];
    if (tile.memory != memory || tile.core != core || tile.bytes == 0) continue;
    tiles.push_back({static_cast<TileId>(i), 1, tile.bytes, {}});
  }
  const TileLifetimes lifetimes = tile_lifetimes(program, tiles);
  std::vector<size_t> used;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (lifetimes.of[i].used()) used.push_back(i);
  }
  const LivePeak peak = live_peak(tiles, lifetimes, used);
  if (peak.bytes == 0) return "";
  const TilesAt at_peak{program, tiles, lifetimes, used, peak.position};
  return text(name(memory), ": ", capacity, " bytes per partition, at most ", peak.bytes,
              " live, at ", at_peak.place(), "\n", tile_table(at_peak, capacity, TableRows::kAll));
}

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
    const auto number = static_cast<uint8_t>(core);
    result += table_of(program, MemoryKind::kSbuf, number, limits.sbuf_usable.count);
    result +=
        table_of(program, MemoryKind::kPsum, number, limits.psum_banks * limits.psum_bank.count);
  }
  return result + spills_line(program.spills);
}

}  // namespace neuron_sim
