#pragma once
// Treats subnormal numbers as zeros, as products of bf16 do.

#include <immintrin.h>

namespace neuron_sim {

/// While it lives, fp32 operations of the calling thread take subnormal operands and results as
/// zeros of their signs. (Whether a result is one is decided after it was rounded.) Construct it in
/// a function that is not inlined and exchanges numbers through memory: the compiler may move
/// arithmetic on registers across the change of mode.
class SubnormalsAsZeros {
 public:
  SubnormalsAsZeros() { set(before_ | kOperands | kResults); }
  ~SubnormalsAsZeros() { set(before_); }
  SubnormalsAsZeros(const SubnormalsAsZeros&) = delete;
  SubnormalsAsZeros& operator=(const SubnormalsAsZeros&) = delete;

 private:
  static void set(unsigned mode) {
    asm volatile("" ::: "memory");
    _mm_setcsr(mode);
    asm volatile("" ::: "memory");
  }

  static constexpr unsigned kOperands = 0x40, kResults = 0x8000;
  const unsigned before_ = _mm_getcsr();
};

}  // namespace neuron_sim
