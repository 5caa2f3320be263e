// The host's peak in fp32 on one thread: fused multiply-adds of vectors in registers, in as many
// chains as hide their latency. Prints GFLOP/s of processor time; products are compared with it.

#include <algorithm>
#include <cstdio>
#include <ctime>

// The flags of this project forbid contraction, by which the loop below gets its instruction.
#pragma GCC optimize("O3", "fp-contract=fast")

namespace {

// Two units of four or five cycles need ten chains; 32 registers hold 24 beside both factors.
constexpr int kChains = 24;
constexpr long kRounds = 2'000'000;  // tens of milliseconds

template <int kBytes>
using Vector [[gnu::vector_size(kBytes)]] = float;

/// Multiply-adds of kRounds rounds of `chains` vectors; their sum, so that none is left out.
template <class V, int chains>
[[gnu::always_inline]] inline float multiply_add(float factor, float summand) {
  const V scale = V{} + factor, offset = V{} + summand;
  V sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = V{} + summand * static_cast<float>(i);  // unlike
  for (long round = 0; round < kRounds; ++round) {
#pragma GCC unroll 32
    for (V& sum : sums) sum = sum * scale + offset;
  }
  V total{};
#pragma GCC unroll 32
  for (const V& sum : sums) total += sum;
  return total[0];
}

#if defined(__x86_64__)
[[gnu::target("avx512f"), gnu::noinline]] float widest(float factor, float summand) {
  return multiply_add<Vector<64>, kChains>(factor, summand);
}
[[gnu::target("avx2,fma"), gnu::noinline]] float wide(float factor, float summand) {
  return multiply_add<Vector<32>, kChains / 2>(factor, summand);
}
#endif
[[gnu::noinline]] float narrow(float factor, float summand) {
  return multiply_add<Vector<16>, kChains / 2>(factor, summand);
}

struct Loop {
  float (*run)(float, float);
  int lanes;
  int chains;
};

Loop widest_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {widest, 16, kChains};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {wide, 8, kChains / 2};
#endif
  return {narrow, 4, kChains / 2};
}

}  // namespace

int main() {
  const Loop loop = widest_loop();
  volatile float factor = 0.5F, sink = 0;
  double best = 1e9;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const std::clock_t start = std::clock();
    sink = loop.run(factor, 1.0F);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  (void)sink;
  const double operations = 2.0 * loop.lanes * loop.chains * static_cast<double>(kRounds);
  std::printf("fp32 %.1f GFLOP/s\n", operations / best * 1e-9);
}
