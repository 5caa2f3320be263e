#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "device/passes/allocate.h"

namespace neuron_sim {
namespace {

constexpr int64_t kStep = 64;     // as the Builder aligns tiles
constexpr int64_t kBuffers = 16;  // of a size, before larger free space is left to larger tiles

int64_t rounded(int64_t bytes) { return (bytes + kStep - 1) / kStep * kStep; }

/// Bytes of one partition as slots side by side; a slot is free behind the last instance of the
/// version that holds it.
class SlotAllocator {
 public:
  /// [0, capacity) but for the bytes of `placed` tiles.
  SlotAllocator(const StraightLine& line, int64_t capacity, SbufReuse reuse)
      : capacity_(capacity), reuse_(reuse) {
    for (const Tile& tile : line.tiles) {
      if (tile.memory != MemoryKind::kSbuf || !tile.placed) continue;
      taken_[tile.address] = std::max(taken_[tile.address], tile.address + tile.bytes);
    }
  }

  /// Address for a version that lives over these instances; -1 when there is no space.
  int64_t place(int64_t bytes, const Lifetime& lifetime) {
    int64_t address = fresh(bytes);
    if (address < 0) address = freed(bytes, lifetime.first);
    if (address < 0) address = joined(bytes, lifetime.first);
    if (address >= 0) occupy(address, bytes, lifetime.last);
    return address;
  }

  /// The slot at `address`, which its holder must have left.
  bool place_again(int64_t address, int64_t bytes, const Lifetime& lifetime) {
    const auto slot = slots_.find(address);
    if (slot == slots_.end() || slot->second.bytes != bytes) return false;
    if (slot->second.last >= lifetime.first) return false;
    drop(slot);
    occupy(address, bytes, lifetime.last);
    return true;
  }

 private:
  struct Slot {
    int64_t bytes;
    uint32_t last;
  };
  using Slots = std::map<int64_t, Slot>;

  void occupy(int64_t address, int64_t bytes, uint32_t last) {
    slots_[address] = {bytes, last};
    by_size_[bytes].insert({last, address});
  }
  Slots::iterator drop(Slots::iterator slot) {
    by_size_[slot->second.bytes].erase({slot->second.last, slot->first});
    return slots_.erase(slot);
  }

  /// Space that nothing has used yet.
  int64_t fresh(int64_t bytes) {
    int64_t address = top_;
    for (auto taken = taken_.begin(); taken != taken_.end(); ++taken) {
      if (taken->first < address + bytes && address < taken->second) {
        address = rounded(taken->second);
      }
    }
    if (address + bytes > capacity_) return -1;
    top_ = address + bytes;
    return address;
  }

  /// The slot of this size that was freed first. While there are few of them, that of a larger
  /// slot that was freed earlier, so that tiles of a new size do not wait for each other.
  int64_t freed(int64_t bytes, uint32_t first) {
    std::pair<uint32_t, int64_t> oldest{first, -1};
    const auto end = reuse_ == SbufReuse::kLargerSpace && is_scarce(bytes)
                         ? by_size_.end()
                         : by_size_.upper_bound(bytes);
    for (auto size = by_size_.lower_bound(bytes); size != end; ++size) {
      if (size->second.empty() || size->second.begin()->first >= oldest.first) continue;
      oldest = *size->second.begin();
    }
    return oldest.second < 0 ? -1 : join(slots_.find(oldest.second), bytes);
  }

  bool is_scarce(int64_t bytes) {
    const auto count = static_cast<int64_t>(by_size_[bytes].size());
    return count < 2 || (count < kBuffers && count * bytes < capacity_ / 8);
  }

  /// Free neighbours that together are large enough; of all such runs the one freed first. What
  /// remains of them becomes a slot of its own.
  int64_t joined(int64_t bytes, uint32_t first) {
    auto best = slots_.end();
    uint32_t best_last = first;
    for (auto begin = slots_.begin(); begin != slots_.end(); ++begin) {
      uint32_t last = 0;
      int64_t end = begin->first;
      for (auto slot = begin; slot != slots_.end() && slot->first == end; ++slot) {
        last = std::max(last, slot->second.last);
        end += slot->second.bytes;
        if (last >= best_last || end - begin->first >= bytes) break;
      }
      if (end - begin->first < bytes || last >= best_last) continue;
      best = begin;
      best_last = last;
    }
    return best == slots_.end() ? -1 : join(best, bytes);
  }

  int64_t join(Slots::iterator slot, int64_t bytes) {
    const int64_t address = slot->first;
    int64_t end = address;
    uint32_t last = 0;
    while (end - address < bytes) {
      last = std::max(last, slot->second.last);
      end += slot->second.bytes;
      slot = drop(slot);
    }
    if (end > address + bytes) occupy(address + bytes, end - address - bytes, last);
    return address;
  }

  int64_t capacity_;
  SbufReuse reuse_;
  int64_t top_ = 0;
  std::map<int64_t, int64_t> taken_;  ///< placed tiles: first byte, end
  Slots slots_;                       ///< by address
  std::map<int64_t, std::set<std::pair<uint32_t, int64_t>>> by_size_;  ///< last instance, address
};

/// Versions of the kernel's tiles that have a place already, in the order they got it.
class Window {
 public:
  Window(size_t tiles, int64_t size) : placed_(tiles), size_(size) {}
  /// Address whose turn it is; -1 while there may be one more.
  int64_t turn(TileId tile) {
    std::vector<int64_t>& addresses = placed_[static_cast<size_t>(tile)];
    if (size_ == 0 || static_cast<int64_t>(addresses.size()) < size_) return -1;
    return addresses[next_[tile]++ % addresses.size()];
  }
  void note(TileId tile, int64_t address) {
    std::vector<int64_t>& addresses = placed_[static_cast<size_t>(tile)];
    if (static_cast<int64_t>(addresses.size()) < size_) addresses.push_back(address);
  }

 private:
  std::vector<std::vector<int64_t>> placed_;
  std::map<TileId, size_t> next_;
  int64_t size_;
};

}  // namespace

std::vector<Lifetime> lifetimes(const StraightLine& line) {
  std::vector<Lifetime> result(line.tiles.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    for (const Operand& operand : line.operands_of(line.instructions[i])) {
      if (!operand.present()) continue;
      Lifetime& lifetime = result[static_cast<size_t>(operand.tile)];
      lifetime.first = std::min(lifetime.first, i);
      lifetime.last = std::max(lifetime.last, i);
    }
  }
  return result;
}

bool allocate_sbuf(StraightLine& line, int64_t buffers_per_tile, SbufReuse reuse) {
  const std::vector<Lifetime> lives = lifetimes(line);
  std::vector<TileId> order;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const Tile& tile = line.tiles[i];
    const bool wanted = tile.memory == MemoryKind::kSbuf && !tile.placed && lives[i].used();
    if (wanted) order.push_back(static_cast<TileId>(i));
  }
  const auto life = [&](TileId tile) { return lives[static_cast<size_t>(tile)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](TileId a, TileId b) { return life(a).first < life(b).first; });
  SlotAllocator slots(line, line.architecture->limits.sbuf_usable.count, reuse);
  Window window(line.tiles.size(), buffers_per_tile);
  std::vector<int64_t> addresses(line.tiles.size(), -1);
  for (const TileId id : order) {
    const auto tile = static_cast<size_t>(id);
    const int64_t bytes = rounded(line.tiles[tile].bytes);
    int64_t address = window.turn(line.version_of[tile]);
    if (address < 0 || !slots.place_again(address, bytes, life(id))) {
      address = slots.place(bytes, life(id));
      window.note(line.version_of[tile], address);
    }
    if (address < 0) return false;
    addresses[tile] = address;
  }
  move_tiles(line, addresses);
  return true;
}

}  // namespace neuron_sim
