#pragma once
// Treats subnormal numbers as zeros, as products of bf16 do.

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace neuron_sim {

/// While it lives, fp32 operations of the calling thread take subnormal operands and results as
/// zeros of their signs. (Whether a result is one is decided after it was rounded, on arm64 before:
/// see rounded_late().) Construct it in a function that is not inlined and exchanges numbers
/// through memory: the compiler may move arithmetic on registers across the change of mode.
class SubnormalsAsZeros {
 public:
  SubnormalsAsZeros() { set(before_ | kBits); }
  ~SubnormalsAsZeros() { set(before_); }
  SubnormalsAsZeros(const SubnormalsAsZeros&) = delete;
  SubnormalsAsZeros& operator=(const SubnormalsAsZeros&) = delete;

#if defined(__x86_64__)

  static constexpr bool rounded_late() { return false; }

 private:
  static void set(unsigned mode) {
    asm volatile("" ::: "memory");
    _mm_setcsr(mode);
    asm volatile("" ::: "memory");
  }

  static constexpr unsigned kBits = 0x8040;  // results, operands
  const unsigned before_ = _mm_getcsr();

#else

  /// Whether a result was taken as a zero that might, rounded first, have been the least normal
  /// number.
  bool rounded_late() const {
    uint64_t status = 0;
    asm volatile("mrs %0, fpsr" : "=r"(status)::"memory");
    return (status & kUnderflow) != 0;
  }

 private:
  static void set(uint64_t mode) {
    asm volatile("msr fpcr, %0" ::"r"(mode) : "memory");
    asm volatile("msr fpsr, %0" ::"r"(uint64_t{0}) : "memory");
  }
  static uint64_t mode() {
    uint64_t mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }

  static constexpr uint64_t kBits = 1U << 24, kUnderflow = 1U << 3;
  const uint64_t before_ = mode();

#endif
};

}  // namespace neuron_sim
