#pragma once
// The on-chip memories of one simulated NeuronCore: SBUF, PSUM and the states of
// the engines.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "device/arch/architecture.h"
#include "device/operand/view.h"

namespace neuron_sim {

/// Host storage of the on-chip memories. Pages are touched only when used. The pitch between
/// partitions is padded off powers of two (up to 12 % faster matrix products). A new core is a
/// reset core: its random number generators have the states of seed 0
/// (device/numerics/random_bits.h); that the chip has such a state is assumed.
class CoreMemory {
 public:
  /// With at least `sbuf` and `psum` bytes per partition, for programs that exceed the chip's.
  explicit CoreMemory(const Architecture& architecture, int64_t sbuf = 0, int64_t psum = 0);
  ~CoreMemory();
  CoreMemory(const CoreMemory&) = delete;
  CoreMemory& operator=(const CoreMemory&) = delete;

  /// Whether SBUF and PSUM have that many bytes per partition.
  bool holds(int64_t sbuf, int64_t psum) const;
  /// Goes on with the random number generators of `other`, which gets the own ones.
  void swap_random_states(CoreMemory& other) { std::swap(banks_[5], other.banks_[5]); }

  /// Byte `offset` of a partition.
  std::byte* at(MemoryKind memory, int64_t partition, int64_t offset) const {
    const Bank& bank = banks_[index(memory)];
    return bank.base + partition * bank.pitch + offset;
  }
  /// Bytes from one partition to the next.
  int64_t pitch(MemoryKind memory) const { return banks_[index(memory)].pitch; }

  /// fp32 copy of the element at SBUF byte `offset` of a dtype of that itemsize (1 or 2).
  float* widened(int itemsize, int64_t partition, int64_t offset) const {
    const Bank& bank = banks_[itemsize == 2 ? 3 : 4];
    return reinterpret_cast<float*>(bank.base + partition * bank.pitch + offset * (4 / itemsize));
  }
  int64_t widened_pitch(int itemsize) const { return banks_[itemsize == 2 ? 3 : 4].pitch; }

 private:
  struct Bank {
    std::byte* base = nullptr;
    int64_t pitch = 0;
    int64_t bytes = 0;
  };
  static size_t index(MemoryKind memory) {
    switch (memory) {
      case MemoryKind::kSbuf: return 0;
      case MemoryKind::kPsum: return 1;
      case MemoryKind::kAccumulator: return 2;
      default: return 5;
    }
  }
  static Bank reserve(int64_t partitions, int64_t bytes_per_partition);
  void reset_random_states(int64_t partitions);

  // SBUF, PSUM, accumulators, fp32 copies of 2-byte and of 1-byte elements, random states
  Bank banks_[6];
};

}  // namespace neuron_sim
