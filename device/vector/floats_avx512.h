// Vectors of fp32 in AVX-512. For the files of one instruction set, whose target may be wider.

#include <immintrin.h>

#include <cstdint>

#ifndef NEURON_SIM_TARGET
#define NEURON_SIM_TARGET __attribute__((target("avx512f")))
#endif

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 16;

using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Mask = __mmask16;

/// a * b + c with one rounding.
NEURON_SIM_TARGET inline Floats fused(const Floats& a, const Floats& b, const Floats& c) {
  return _mm512_fmadd_ps(a, b, c);
}

/// The lanes in which either is NaN.
NEURON_SIM_TARGET inline Mask unordered(const Floats& a, const Floats& b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}

NEURON_SIM_TARGET inline bool any(Mask mask) { return mask != 0; }

}  // namespace
}  // namespace neuron_sim
