#pragma once
// Hashes of numbers and addresses.

#include <cstddef>
#include <cstdint>

namespace neuron_sim {

inline constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15;  ///< 2 to the 64 by the golden ratio

inline void mix(uint64_t& hash, uint64_t value) {
  hash = (hash ^ value) * kHashFactor;
  hash ^= hash >> 32;
}
inline void mix(uint64_t& hash, const void* pointer) {
  mix(hash, reinterpret_cast<uintptr_t>(pointer));
}

/// One of `count` places for a hash. The high bits of a product depend on all bits of the hash.
inline size_t index_of(uint64_t hash, size_t count) {
  return static_cast<size_t>((hash * kHashFactor) >> 48) % count;
}

}  // namespace neuron_sim
