#include "device/memory/tile_allocator.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

// The smallest alignment in SBUF is not public; a cache line of the host suits the executor.
constexpr int64_t kSbufStep = 64;

}  // namespace

TileAllocator::TileAllocator(MemoryKind memory, const Architecture& architecture)
    : memory_(memory),
      architecture_(architecture),
      capacity_(memory == MemoryKind::kPsum
                    ? architecture.limits.psum_banks * architecture.limits.psum_bank.count
                    : architecture.limits.sbuf_usable.count),
      step_(memory == MemoryKind::kPsum ? architecture.limits.psum_bank.count : kSbufStep) {}

int64_t TileAllocator::pitch(int64_t bytes) const {
  return std::max<int64_t>((bytes + step_ - 1) / step_, 1) * step_;
}

int64_t TileAllocator::used() const {
  int64_t total = 0;
  for (const auto& [address, live] : live_) total += live.bytes;
  return total;
}

int64_t TileAllocator::allocate(const std::string& label, int64_t bytes, int64_t count) {
  const int64_t size = pitch(bytes) * count;
  int64_t address = 0;
  for (const auto& [start, live] : live_) {
    if (start - address >= size) break;
    address = start + live.bytes;
  }
  // SBUF need not end on a step: the last tile may use the bytes that are left.
  const int64_t needed = pitch(bytes) * (count - 1) + bytes;
  if (address + needed > capacity_) {
    fail(text("out of memory in ", name(memory_), ": tile '", label, "' needs ", needed,
              " bytes per partition, ", used(), " of ", capacity_, " are in use",
              architecture_.name.empty() ? "" : " on ", architecture_.name,
              ". Live tiles: ", live_tiles()),
         ErrorKind::kOutOfMemory);
  }
  live_[address] = {std::min(size, capacity_ - address), label};
  peak_ = std::max(peak_, address + live_[address].bytes);
  return address;
}

void TileAllocator::release(int64_t address) {
  require(live_.erase(address) == 1, "release of a tile that is not live");
}

void TileAllocator::check_direct(const std::string& label, int64_t address, int64_t bytes,
                                 int64_t count) const {
  if (address < 0 || address + bytes * count > capacity_) {
    fail(text("direct allocation of '", label, "' in ", name(memory_), ": bytes [", address, ", ",
              address + bytes * count, ") exceed the ", capacity_, " bytes per partition of ",
              architecture_.name, "."),
         ErrorKind::kOutOfMemory);
  }
  if (memory_ == MemoryKind::kPsum && address % step_ != 0) {
    fail(text("direct allocation of '", label, "' in psum: address ", address,
              " is not the start of a bank of ", step_, " bytes on ", architecture_.name, "."));
  }
}

std::string TileAllocator::live_tiles() const {
  if (live_.empty()) return "none.";
  std::string result;
  for (const auto& [address, live] : live_) {
    result += text(result.empty() ? "" : ", ", "'", live.label, "' (", live.bytes, " bytes at ",
                   address, ")");
  }
  return result + ".";
}

}  // namespace neuron_sim
