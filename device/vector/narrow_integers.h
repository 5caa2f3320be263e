#pragma once
// Four numbers to 32-bit integers at a time.

#include <cstddef>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

namespace neuron_sim {

#if defined(__x86_64__)

/// int32 or uint32 of four numbers: to nearest even, saturating, NaN becomes 0. The processor gives
/// its lowest int32 for NaN and beyond either end.
template <typename Integer>
__m128i narrow_lanes(const float* source) {
  const __m128 values = _mm_loadu_ps(source);
  constexpr float kHalf = 2147483648.0f;
  const __m128 upper = _mm_cmpge_ps(values, _mm_set1_ps(kHalf));
  if constexpr (std::is_signed_v<Integer>) {
    const __m128i saturated = _mm_xor_si128(_mm_cvtps_epi32(values), _mm_castps_si128(upper));
    return _mm_and_si128(saturated, _mm_castps_si128(_mm_cmpord_ps(values, values)));
  } else {
    const __m128 lower = _mm_sub_ps(values, _mm_and_ps(upper, _mm_set1_ps(kHalf)));
    const __m128i top = _mm_slli_epi32(_mm_castps_si128(upper), 31);
    const __m128i beyond = _mm_castps_si128(_mm_cmpge_ps(values, _mm_set1_ps(2 * kHalf)));
    const __m128i saturated = _mm_or_si128(_mm_xor_si128(_mm_cvtps_epi32(lower), top), beyond);
    return _mm_and_si128(saturated, _mm_castps_si128(_mm_cmpgt_ps(values, _mm_setzero_ps())));
  }
}

#else

/// The same in one instruction, which saturates and takes NaN for 0.
template <typename Integer>
auto narrow_lanes(const float* source) {
  const float32x4_t values = vld1q_f32(source);
  if constexpr (std::is_signed_v<Integer>) {
    return vcvtnq_s32_f32(values);
  } else {
    return vcvtnq_u32_f32(values);
  }
}

#endif

/// target[i] = source[i] as an int32 or uint32, for four of them.
template <typename Integer>
void narrow_four(const float* source, std::byte* target) {
  const auto integers = narrow_lanes<Integer>(source);
  std::memcpy(target, &integers, sizeof integers);
}

}  // namespace neuron_sim
