// Vectors of fp32 in AVX2 with FMA. For the files of one instruction set.

#include <immintrin.h>

#include <cstdint>

#define NEURON_SIM_TARGET __attribute__((target("avx2,fma")))

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 8;

using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Mask [[gnu::vector_size(kLanes * sizeof(int32_t))]] = int32_t;

/// a * b + c with one rounding.
NEURON_SIM_TARGET inline Floats fused(const Floats& a, const Floats& b, const Floats& c) {
  return _mm256_fmadd_ps(a, b, c);
}

/// The lanes in which either is NaN.
NEURON_SIM_TARGET inline Mask unordered(const Floats& a, const Floats& b) {
  return reinterpret_cast<Mask>(_mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

NEURON_SIM_TARGET inline bool any(const Mask& mask) {
  return _mm256_movemask_ps(reinterpret_cast<Floats>(mask)) != 0;
}

}  // namespace
}  // namespace neuron_sim
