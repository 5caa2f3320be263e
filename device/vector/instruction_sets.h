#pragma once
// The instruction sets of this host that not every host of its kind has.

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace neuron_sim {

#if defined(__x86_64__)

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}

/// Conversions of fp16, which are F16C here. By hand: clang 14 does not know
/// __builtin_cpu_supports("f16c").
inline bool has_half_conversions() {
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
           (ecx & bit_F16C) != 0;
  }();
  return has;
}

#else

constexpr bool has_avx2() { return false; }
constexpr bool has_avx512() { return false; }
constexpr bool has_half_conversions() { return true; }

#endif

}  // namespace neuron_sim
