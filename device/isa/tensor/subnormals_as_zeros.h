#pragma once
// How products of bf16 count numbers below the normal ones.

#include <immintrin.h>

namespace neuron_sim {

/// While it lives, fp32 operations of the calling thread take subnormal operands and results as
/// zeros of their signs. (Whether a result is one is decided after it was rounded.) It lives in a
/// function of its own that reads and writes numbers in memory: only these stay inside.
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
