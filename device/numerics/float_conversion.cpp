#include "device/numerics/float_conversion.h"

#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#include "device/numerics/elements.h"
#include "device/vector/instruction_sets.h"

namespace neuron_sim::float_conversion {

namespace {

template <typename Float8>
constexpr std::array<float, 256> all_values() {
  std::array<float, 256> values{};
  for (uint32_t bits = 0; bits < 256; ++bits) values[bits] = Float8::widen(bits);
  return values;
}

}  // namespace

constexpr std::array<float, 256> kE4m3Values = all_values<E4m3>();
constexpr std::array<float, 256> kE4m3fnValues = all_values<E4m3fn>();
constexpr std::array<float, 256> kE8m0fnuValues = all_values<E8m0fnu>();
constexpr std::array<float, 256> kE5m2Values = all_values<E5m2>();

void widen_half_portable(const void* source, float* target, int64_t count) {
  elements::load<uint16_t>(static_cast<const std::byte*>(source), 2, target, count,
                           [](uint16_t bits) { return Half::widen(bits); });
}

void narrow_half_portable(const float* source, void* target, int64_t count) {
  elements::store<uint16_t>(source, static_cast<std::byte*>(target), 2, count,
                            [](float value) { return static_cast<uint16_t>(Half::narrow(value)); });
}

namespace {

#if defined(__x86_64__)

#define NEURON_SIM_TARGET __attribute__((target("avx,f16c")))
constexpr int64_t kLanes = 8;

NEURON_SIM_TARGET void widen_lanes(const std::byte* source, float* target) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source));
  _mm256_storeu_ps(target, _mm256_cvtph_ps(bits));
}

NEURON_SIM_TARGET void narrow_lanes(const float* source, std::byte* target) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(source), kNearest);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(target), bits);
}

#else

#define NEURON_SIM_TARGET
constexpr int64_t kLanes = 4;

void widen_lanes(const std::byte* source, float* target) {
  float16x4_t bits;
  std::memcpy(&bits, source, sizeof bits);
  vst1q_f32(target, vcvt_f32_f16(bits));
}

void narrow_lanes(const float* source, std::byte* target) {
  const float16x4_t bits = vcvt_f16_f32(vld1q_f32(source));
  std::memcpy(target, &bits, sizeof bits);
}

#endif

NEURON_SIM_TARGET void widen_half_in_lanes(const std::byte* source, float* target, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) widen_lanes(source + 2 * i, target + i);
  widen_half_portable(source + 2 * i, target + i, count - i);
}

NEURON_SIM_TARGET void narrow_half_in_lanes(const float* source, std::byte* target, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) narrow_lanes(source + i, target + 2 * i);
  narrow_half_portable(source + i, target + 2 * i, count - i);
}

}  // namespace

void widen_half(const void* source, float* target, int64_t count) {
  if (has_half_conversions()) {
    widen_half_in_lanes(static_cast<const std::byte*>(source), target, count);
  } else {
    widen_half_portable(source, target, count);
  }
}

void narrow_half(const float* source, void* target, int64_t count) {
  if (has_half_conversions()) {
    narrow_half_in_lanes(source, static_cast<std::byte*>(target), count);
  } else {
    narrow_half_portable(source, target, count);
  }
}

}  // namespace neuron_sim::float_conversion
