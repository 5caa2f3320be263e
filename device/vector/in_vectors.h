#pragma once
// Loops that are compiled for the vectors of several instruction sets.

#include <cstdint>
#include <type_traits>

#include "device/vector/instruction_sets.h"

namespace neuron_sim {

/// The vectors of an instruction set. The bytes do not depend on them.
enum class Vectors : uint8_t { kEveryHost, kAvx2, kAvx512 };
inline constexpr int kVectorsCount = 3;

/// The widest that this host has.
inline Vectors widest_vectors() {
  return has_avx512() ? Vectors::kAvx512 : has_avx2() ? Vectors::kAvx2 : Vectors::kEveryHost;
}

/// Calls block(number of bytes, a constant) compiled for these vectors. Nothing is fused
/// (-ffp-contract=off), so the bytes are those of any host.
#if defined(__x86_64__)
template <typename Block>
__attribute__((target("avx2"), flatten)) void in_avx2(Block block) {
  block(std::integral_constant<int, 32>());
}
template <typename Block>
__attribute__((target("avx512f"), flatten)) void in_avx512(Block block) {
  block(std::integral_constant<int, 64>());
}
template <typename Block>
void in_vectors(Vectors vectors, Block block) {
  switch (vectors) {
    case Vectors::kAvx512: return in_avx512(block);
    case Vectors::kAvx2: return in_avx2(block);
    case Vectors::kEveryHost: return block(std::integral_constant<int, 16>());
  }
}
#else
template <typename Block>
void in_vectors(Vectors, Block block) {
  block(std::integral_constant<int, 16>());
}
#endif

}  // namespace neuron_sim
