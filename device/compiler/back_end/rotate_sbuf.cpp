#include <algorithm>
#include <deque>
#include <optional>

#include "device/compiler/back_end/allocate.h"

#include "device/base/interruption.h"

namespace neuron_sim {
namespace {

constexpr int64_t kUnit = 64;  // tiles start at multiples of it

/// Space reserved for a large tile before the others are placed.
struct Reserved {
  int64_t begin, end;  ///< units
  Lifetime lifetime;

  bool meets(const Lifetime& other) const {
    return lifetime.first <= other.last && other.first <= lifetime.last;
  }
};

/// Places for the tiles of a program, in units of SBUF.
class Rotation {
 public:
  Rotation(const StraightLine& line, const std::vector<Lifetime>& lives)
      : line_(line), lives_(lives), units_(line.architecture->limits.sbuf_usable.count / kUnit) {
    for (size_t i = 0; i < line.tiles.size(); ++i) {
      const Tile& tile = line.tiles[i];
      if (tile.memory != MemoryKind::kSbuf || !lives[i].used()) continue;
      if (!tile.placed) order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  }

  /// Addresses per tile when those of at least `large` units are placed first; empty when not all
  /// fit.
  std::optional<std::vector<int64_t>> places(int64_t large) {
    addresses_.assign(line_.tiles.size(), -1);
    if (!reserve(large)) return std::nullopt;
    last_.assign(static_cast<size_t>(units_), -1);
    for (const size_t tile : order_) {
      poll_interruption();
      if (addresses_[tile] < 0) addresses_[tile] = oldest(tile);
      if (addresses_[tile] < 0) return std::nullopt;
      const auto begin = last_.begin() + addresses_[tile];
      std::fill(begin, begin + units(tile), static_cast<int64_t>(lives_[tile].last));
    }
    for (int64_t& address : addresses_) {
      if (address >= 0) address *= kUnit;
    }
    return addresses_;
  }

 private:
  int64_t units(size_t tile) const {
    return SlotAllocator::rounded(line_.tiles[tile].bytes) / kUnit;
  }

  /// Places the large tiles, the largest first, each as low as possible, clear of live ones.
  bool reserve(int64_t large) {
    reserved_.clear();
    for (size_t i = 0; i < line_.tiles.size(); ++i) {
      const Tile& tile = line_.tiles[i];
      if (tile.memory != MemoryKind::kSbuf || !tile.placed) continue;
      const auto end = static_cast<uint32_t>(line_.instructions.size());
      reserved_.push_back({tile.address / kUnit, tile.address / kUnit + units(i), {0, end}});
    }
    std::vector<size_t> tiles;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(tiles),
                 [&](size_t tile) { return units(tile) >= large; });
    std::stable_sort(tiles.begin(), tiles.end(),
                     [&](size_t a, size_t b) { return units(a) > units(b); });
    for (const size_t tile : tiles) {
      addresses_[tile] = lowest(tile);
      if (addresses_[tile] < 0) return false;
      reserved_.push_back({addresses_[tile], addresses_[tile] + units(tile), lives_[tile]});
    }
    return true;
  }

  /// The first unit of the lowest space clear of places reserved in the tile's live range, or -1.
  int64_t lowest(size_t tile) const {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Reserved& place : reserved_) {
      if (place.meets(lives_[tile])) taken.emplace_back(place.begin, place.end);
    }
    std::sort(taken.begin(), taken.end());
    int64_t unit = 0;
    for (const auto& [begin, end] : taken) {
      if (unit + units(tile) <= begin) break;
      unit = std::max(unit, end);
    }
    return unit + units(tile) <= units_ ? unit : -1;
  }

  /// The space that was freed first, clear of places reserved in the tile's live range; -1 when
  /// there is none.
  int64_t oldest(size_t tile) const {
    std::vector<bool> blocked(static_cast<size_t>(units_));
    for (const Reserved& place : reserved_) {
      if (!place.meets(lives_[tile])) continue;
      std::fill(blocked.begin() + place.begin, blocked.begin() + place.end, true);
    }
    const int64_t wanted = units(tile), first = lives_[tile].first;
    int64_t best = -1, best_last = first;
    std::deque<int64_t> window;  // units with falling last positions
    int64_t free_from = 0;
    for (int64_t unit = 0; unit < units_; ++unit) {
      const auto index = static_cast<size_t>(unit);
      if (blocked[index] || last_[index] >= first) {
        free_from = unit + 1;
        window.clear();
        continue;
      }
      while (!window.empty() && last_[static_cast<size_t>(window.back())] <= last_[index]) {
        window.pop_back();
      }
      window.push_back(unit);
      const int64_t begin = unit - wanted + 1;
      if (begin < free_from) continue;
      while (window.front() < begin) window.pop_front();
      const int64_t left = last_[static_cast<size_t>(window.front())];
      if (left < best_last) best_last = left, best = begin;
    }
    return best;
  }

  const StraightLine& line_;
  const std::vector<Lifetime>& lives_;
  const int64_t units_;
  std::vector<size_t> order_;  ///< tiles by their first positions
  std::vector<Reserved> reserved_;
  std::vector<int64_t> last_;  ///< per unit: last position of the tile that had it
  std::vector<int64_t> addresses_;
};

}  // namespace

bool rotate_sbuf(StraightLine& line) {
  const std::vector<Lifetime> lives = lifetimes(line);
  Rotation rotation(line, lives);
  const int64_t units = line.architecture->limits.sbuf_usable.count / kUnit;
  for (int64_t large = units / 4; large > 0; large /= 4) {
    if (const auto addresses = rotation.places(large)) {
      move_tiles(line, *addresses);
      return true;
    }
  }
  return false;
}

}  // namespace neuron_sim
