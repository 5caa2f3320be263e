#include "device/numerics/float_conversion.h"

#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "device/numerics/elements.h"

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

#if defined(__x86_64__)

namespace {

__attribute__((target("avx,f16c"))) void widen_half_f16c(const std::byte* source, float* target,
                                                         int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + 2 * i));
    _mm256_storeu_ps(target + i, _mm256_cvtph_ps(bits));
  }
  widen_half_portable(source + 2 * i, target + i, count - i);
}

__attribute__((target("avx,f16c"))) void narrow_half_f16c(const float* source, std::byte* target,
                                                          int64_t count) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(source + i), kNearest);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + 2 * i), bits);
  }
  narrow_half_portable(source + i, target + 2 * i, count - i);
}

// By hand: clang 14 does not know __builtin_cpu_supports("f16c").
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool has_half_instructions() {
  static const bool has = __builtin_cpu_supports("avx") && has_f16c();
  return has;
}

void widen_half(const void* source, float* target, int64_t count) {
  if (has_half_instructions()) {
    widen_half_f16c(static_cast<const std::byte*>(source), target, count);
  } else {
    widen_half_portable(source, target, count);
  }
}

void narrow_half(const float* source, void* target, int64_t count) {
  if (has_half_instructions()) {
    narrow_half_f16c(source, static_cast<std::byte*>(target), count);
  } else {
    narrow_half_portable(source, target, count);
  }
}

#else

bool has_half_instructions() { return false; }
void widen_half(const void* source, float* target, int64_t count) {
  widen_half_portable(source, target, count);
}
void narrow_half(const float* source, void* target, int64_t count) {
  narrow_half_portable(source, target, count);
}

#endif

}  // namespace neuron_sim::float_conversion
