#include "device/memory/core_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "device/base/errors.h"
#include "device/numerics/random_bits.h"

namespace neuron_sim {
namespace {

// Keeps rows 64-byte aligned and their distance off powers of two.
constexpr int64_t kPadding = 64;
constexpr int64_t kAlignment = 64;
// Vector's words of a lane, then GpSimd's (EngineState).
constexpr int64_t kRandomBytes = int64_t{kVectorRandomWords + kGpSimdRandomWords} * 4;

template <typename Banks>
void unmap(const Banks& banks) {
  for (const auto& bank : banks) {
    if (bank.base != nullptr) munmap(bank.base, static_cast<size_t>(bank.bytes));
  }
}

}  // namespace

CoreMemory::Bank CoreMemory::reserve(int64_t partitions, int64_t bytes_per_partition) {
  Bank bank;
  bank.pitch = (bytes_per_partition + kAlignment - 1) / kAlignment * kAlignment + kPadding;
  bank.bytes = bank.pitch * partitions;
  void* base = mmap(nullptr, static_cast<size_t>(bank.bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    fail(text("the host cannot provide ", bank.bytes, " bytes for on-chip memory."),
         ErrorKind::kOutOfMemory);
  }
  bank.base = static_cast<std::byte*>(base);
  return bank;
}

CoreMemory::CoreMemory(const Architecture& architecture, int64_t sbuf, int64_t psum) {
  const Limits& limits = architecture.limits;
  sbuf = std::max(sbuf, limits.sbuf_partition.count);
  psum = std::max(psum, limits.psum_banks * limits.psum_bank.count);
  try {
    banks_[0] = reserve(limits.partitions, sbuf);
    banks_[1] = reserve(limits.partitions, psum);
    banks_[2] = reserve(limits.partitions, 8);
    banks_[3] = reserve(limits.partitions, sbuf * 2);
    banks_[4] = reserve(limits.partitions, sbuf * 4);
    banks_[5] = reserve(limits.partitions, kRandomBytes);
  } catch (...) {
    unmap(banks_);  // no destructor does, and the next attempt may need it
    throw;
  }
  reset_random_states(limits.partitions);
}

void CoreMemory::reset_random_states(int64_t partitions) {
  for (int64_t lane = 0; lane < partitions; ++lane) {
    std::array<uint32_t, kVectorRandomWords + kGpSimdRandomWords> words{};
    seed_random_state(0, lane, words.data(), kVectorRandomWords);
    seed_random_state(0, lane, words.data() + kVectorRandomWords, kGpSimdRandomWords);
    std::memcpy(at(MemoryKind::kRandomState, lane, 0), words.data(), sizeof words);
  }
}

bool CoreMemory::holds(int64_t sbuf, int64_t psum) const {
  return sbuf <= pitch(MemoryKind::kSbuf) - kPadding && psum <= pitch(MemoryKind::kPsum) - kPadding;
}

CoreMemory::~CoreMemory() { unmap(banks_); }

}  // namespace neuron_sim
