#include <algorithm>

#include "device/base/errors.h"
#include "device/compiler/back_end/allocate.h"

namespace neuron_sim {

PsumBanks::PsumBanks(const StraightLine& line)
    : banks_(static_cast<size_t>(line.architecture->limits.psum_banks)),
      bank_bytes_(line.architecture->limits.psum_bank.count) {
  for (const Tile& tile : line.tiles) {
    if (tile.memory != MemoryKind::kPsum || !tile.placed) continue;
    const int64_t end = tile.address + tile.bytes;
    for (int64_t bank = tile.address / bank_bytes_; bank * bank_bytes_ < end; ++bank) {
      banks_[static_cast<size_t>(bank)].free_at = kNever;
    }
  }
}

int64_t PsumBanks::free_count() const {
  return std::count_if(banks_.begin(), banks_.end(),
                       [](const Bank& bank) { return bank.free_at != kNever; });
}

int64_t PsumBanks::needed(const Tile& tile) const {
  return (tile.bytes + bank_bytes_ - 1) / bank_bytes_;
}

int64_t PsumBanks::free_at(size_t first, int64_t count) const {
  int64_t time = 0;
  for (size_t bank = first; bank < first + static_cast<size_t>(count); ++bank) {
    time = std::max(time, banks_[bank].free_at);
  }
  return time;
}

int64_t PsumBanks::earliest(int64_t count) const {
  int64_t time = kNever;
  for (size_t first = 0; first + static_cast<size_t>(count) <= banks_.size(); ++first) {
    time = std::min(time, free_at(first, count));
  }
  return time;
}

int64_t PsumBanks::take(int64_t count, int64_t time) {
  size_t best = banks_.size();
  int64_t best_taken = 0;
  for (size_t first = 0; first + static_cast<size_t>(count) <= banks_.size(); ++first) {
    if (free_at(first, count) > time) continue;
    int64_t taken = -1;
    for (size_t i = first; i < first + static_cast<size_t>(count); ++i) {
      taken = std::max(taken, banks_[i].taken);
    }
    if (best < banks_.size() && taken >= best_taken) continue;
    best = first;
    best_taken = taken;
  }
  require(best < banks_.size(), "banks are taken when they are free");
  for (size_t i = best; i < best + static_cast<size_t>(count); ++i) {
    banks_[i] = {kNever, allocations_};
  }
  ++allocations_;
  return static_cast<int64_t>(best) * bank_bytes_;
}

void PsumBanks::release(int64_t address, int64_t count, int64_t time) {
  const auto first = static_cast<size_t>(address / bank_bytes_);
  for (size_t i = first; i < first + static_cast<size_t>(count); ++i) banks_[i].free_at = time;
}

bool allocate_psum(StraightLine& line) {
  const std::vector<Lifetime> lives = lifetimes(line);
  std::vector<std::vector<size_t>> begins(line.instructions.size());
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const bool wanted = line.tiles[i].memory == MemoryKind::kPsum && !line.tiles[i].placed;
    if (wanted && lives[i].used()) begins[lives[i].first].push_back(i);
  }
  PsumBanks banks(line);
  std::vector<int64_t> addresses(line.tiles.size(), -1);
  for (size_t instance = 0; instance < begins.size(); ++instance) {
    for (const size_t tile : begins[instance]) {
      const int64_t count = banks.needed(line.tiles[tile]);
      const auto time = static_cast<int64_t>(instance);
      if (banks.earliest(count) > time) return false;
      addresses[tile] = banks.take(count, time);
      banks.release(addresses[tile], count, static_cast<int64_t>(lives[tile].last) + 1);
    }
  }
  move_tiles(line, addresses);
  return true;
}

}  // namespace neuron_sim
