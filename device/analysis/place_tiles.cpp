#include "device/analysis/place_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "device/analysis/tile_lifetimes.h"
#include "device/analysis/tile_table.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// The tiles of one memory of one core.
class MemoryPlacement {
 public:
  MemoryPlacement(const Program& program, const std::vector<UnplacedTile>& tiles,
                  const TileLifetimes& lifetimes, MemoryKind memory, uint8_t core)
      : program_(program), tiles_(tiles), lifetimes_(lifetimes), memory_(memory) {
    const Limits& limits = program.architecture->limits;
    const bool psum = memory == MemoryKind::kPsum;
    step_ = psum ? limits.psum_bank.count : SlotAllocator::rounded(1);
    capacity_ = psum ? limits.psum_banks * step_ : limits.sbuf_usable.count;
    for (const Tile& tile : program.tiles) {
      if (tile.memory != memory || tile.core != core || !tile.placed) continue;
      const int64_t end = (tile.address + tile.bytes + step_ - 1) / step_ * step_;
      taken_[tile.address] = std::max(taken_[tile.address], end);
    }
    for (size_t i = 0; i < tiles.size(); ++i) {
      const Tile& tile = program.tiles[static_cast<size_t>(tiles[i].first)];
      if (tile.memory != memory || tile.core != core || !lifetimes.of[i].used()) continue;
      order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return lifetimes.of[a].first < lifetimes.of[b].first;
    });
  }

  /// Stores the address of each unplaced tile of this memory in `addresses`. Returns the position
  /// of an instruction whose live tiles find no place, if there is one.
  std::optional<uint32_t> place(std::vector<int64_t>& addresses) const {
    const LivePeak most = peak();
    if (most.bytes > whole_steps()) return most.position;
    for (const SbufReuse reuse : {SbufReuse::kSameSize, SbufReuse::kLargerSpace}) {
      if (place_in_order(reuse, capacity_, addresses)) return std::nullopt;
    }
    return place_largest_first(addresses);
  }

  /// Places the tiles in a memory that is large enough for all that is live at once.
  void place_beyond_capacity(std::vector<int64_t>& addresses) const {
    int64_t capacity = std::max(peak().bytes, whole_steps());
    do {
      capacity += (capacity / 4 + step_ - 1) / step_ * step_;
    } while (!place_in_order(SbufReuse::kSameSize, capacity, addresses));
  }

  /// The error of the tiles live at `position`, which have no place: a sentence, a line break, then
  /// the tiles and the kernel's line.
  KernelError refusal(uint32_t position) const {
    const TilesAt at{program_, tiles_, lifetimes_, order_, position, taken_bytes()};
    const int64_t live = at.live_bytes();
    std::string tiles = tile_table(at, capacity_, TableRows::kLive);
    tiles.pop_back();  // the last newline
    const std::string line = at.source_line().empty() ? "" : "\n  at " + at.source_line();
    return KernelError(text("out of memory in ", name(memory_), ": the tiles of kernel '",
                            program_.kernel, "' that are live at ", at.place(), " need ", live,
                            " bytes per partition, ", program_.architecture->name, " has ",
                            capacity_, live <= capacity_ ? " but not in one piece" : "", ".\n",
                            tiles, line),
                       ErrorKind::kOutOfMemory);
  }

  /// Rejects a program of which the tiles of one instruction do not fit.
  void check_instructions() const {
    const int64_t free = whole_steps() - taken_bytes();
    std::vector<int64_t> pitches(program_.tiles.size());
    for (const size_t i : order_) {
      const auto first = static_cast<size_t>(tiles_[i].first);
      for (size_t turn = 0; turn < static_cast<size_t>(tiles_[i].count); ++turn) {
        pitches[first + turn] = tiles_[i].pitch;
      }
    }
    for (uint32_t position = 0; position < lifetimes_.instructions.size(); ++position) {
      const uint32_t instruction = lifetimes_.instructions[position];
      if (instruction == UINT32_MAX) continue;
      std::map<TileId, int64_t> needed;
      for (const Operand& operand : program_.operands_of(program_.instructions[instruction])) {
        if (operand.present()) needed[operand.tile] = pitches[static_cast<size_t>(operand.tile)];
      }
      int64_t bytes = 0;
      for (const auto& [tile, pitch] : needed) bytes += pitch;
      if (bytes > free) throw refusal(position);
    }
  }

 private:
  int64_t size(size_t i) const { return tiles_[i].pitch * tiles_[i].count; }
  /// SBUF need not end on a step: the last tile may use the bytes that are left.
  int64_t used_size(size_t i) const {
    const Tile& tile = program_.tiles[static_cast<size_t>(tiles_[i].first)];
    return tiles_[i].pitch * (tiles_[i].count - 1) + tile.bytes;
  }
  int64_t whole_steps() const { return (capacity_ + step_ - 1) / step_ * step_; }

  bool place_in_order(SbufReuse reuse, int64_t capacity, std::vector<int64_t>& addresses) const {
    SlotAllocator slots(capacity, taken_, reuse);
    for (const size_t i : order_) {
      addresses[i] = slots.place(size(i), lifetimes_.of[i]);
      if (addresses[i] < 0) return false;
    }
    return true;
  }

  /// As place().
  std::optional<uint32_t> place_largest_first(std::vector<int64_t>& addresses) const {
    std::vector<size_t> largest = order_;
    std::stable_sort(largest.begin(), largest.end(),
                     [&](size_t a, size_t b) { return size(a) > size(b); });
    std::multimap<int64_t, size_t> by_address;
    for (const size_t i : largest) {
      const int64_t address = lowest(i, by_address);
      if (address < 0) return lifetimes_.of[i].first;
      addresses[i] = address;
      by_address.emplace(address, i);
    }
    return std::nullopt;
  }

  /// Lowest address for a tile, clear of those that are live with it; -1 when there is none.
  int64_t lowest(size_t tile, const std::multimap<int64_t, size_t>& by_address) const {
    const Lifetime& life = lifetimes_.of[tile];
    std::map<int64_t, int64_t> busy = taken_;
    for (const auto& [address, other] : by_address) {
      const Lifetime& its = lifetimes_.of[other];
      if (its.first > life.last || life.first > its.last) continue;
      busy[address] = std::max(busy[address], address + size(other));
    }
    int64_t address = 0;
    for (const auto& [first, end] : busy) {
      if (first - address >= size(tile)) break;
      address = std::max(address, end);
    }
    return address + used_size(tile) <= capacity_ ? address : -1;
  }

  /// Bytes of the tiles placed by hand.
  int64_t taken_bytes() const {
    int64_t bytes = 0, end = 0;
    for (const auto& [first, its_end] : taken_) {
      bytes += std::max<int64_t>(its_end - std::max(first, end), 0);
      end = std::max(end, its_end);
    }
    return bytes;
  }

  LivePeak peak() const { return live_peak(tiles_, lifetimes_, order_, taken_bytes()); }

  const Program& program_;
  const std::vector<UnplacedTile>& tiles_;
  const TileLifetimes& lifetimes_;
  MemoryKind memory_;
  int64_t step_ = 1, capacity_ = 0;
  std::map<int64_t, int64_t> taken_;  ///< placed by hand: first byte, end
  std::vector<size_t> order_;         ///< of first touch
};

void move_operands(Program& program, const std::vector<int64_t>& moved_by) {
  for (Operand& operand : program.operands) {
    if (!operand.present()) continue;
    const int64_t bytes = moved_by[static_cast<size_t>(operand.tile)];
    operand.offset += bytes;
    operand.region.low += bytes;
  }
}

}  // namespace

void place_tiles(Program& program, const std::vector<UnplacedTile>& tiles, Overflow overflow) {
  if (tiles.empty()) return;
  const TileLifetimes lifetimes = tile_lifetimes(program, tiles);
  std::vector<int64_t> addresses(tiles.size(), 0);
  for (size_t core = 0; core < program.cores.size(); ++core) {
    for (const MemoryKind memory : {MemoryKind::kSbuf, MemoryKind::kPsum}) {
      const MemoryPlacement placement(program, tiles, lifetimes, memory,
                                      static_cast<uint8_t>(core));
      const std::optional<uint32_t> refused = placement.place(addresses);
      if (!refused) continue;
      const KernelError refusal = placement.refusal(*refused);
      if (overflow == Overflow::kRefused) throw refusal;
      placement.check_instructions();
      placement.place_beyond_capacity(addresses);
      if (program.overflow.empty()) program.overflow = refusal.what();
    }
  }
  std::vector<int64_t> moved_by(program.tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    for (int32_t turn = 0; turn < tiles[i].count; ++turn) {
      const auto id = static_cast<size_t>(tiles[i].first) + static_cast<size_t>(turn);
      Tile& tile = program.tiles[id];
      tile.address += addresses[i];
      moved_by[id] = addresses[i];
      if (!lifetimes.of[i].used()) {
        tile.bytes = 0;  // so that it joins no other tile's hazard group
        continue;
      }
      int64_t& peak = tile.memory == MemoryKind::kPsum ? program.psum_peak : program.sbuf_peak;
      peak = std::max(peak, tile.address + tile.bytes);
    }
  }
  move_operands(program, moved_by);
}

}  // namespace neuron_sim
