// Blocks of a product of bf16 on hosts with AVX-512F and AVX512_BF16.

#define NEURON_SIM_TARGET __attribute__((target("avx512f,avx512bf16")))
#include "device/isa/tensor/product_bf16.h"
#include "device/isa/tensor/product_block_avx512.h"

namespace neuron_sim {
namespace {

/// Two fused multiply-adds in each lane, the one of the high halves first.
struct MultiplyAddPairs {
  static constexpr int64_t kDepth = 2;  // of a row
  NEURON_SIM_TARGET static __m512 add(__m512 sum, __m512 factor, __m512 values) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(factor),
                            reinterpret_cast<__m512bh>(values));
  }
};

/// Interleaves pairs of rows: the first in the high halves of words, the second, or zeros after the
/// last row, in the low halves.
NEURON_SIM_TARGET void copy_pairs(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; k += 2) {
    const float* first = rows.from + k * rows.from_pitch;
    const float* second = first + rows.from_pitch;
    const int64_t second_length = k + 1 < rows.depth ? rows.length : 0;
    float* to = rows.to + k / 2 * rows.to_pitch;
    for (int64_t i = 0; i < rows.padded; i += kLanes) {
      const Words high = words_at(first, i, rows.length);
      const Words low = words_at(second, i, second_length);
      write_words((high & 0xFFFF0000U) | low >> 16, to, i, rows.padded);
    }
  }
}

void pack(const RowCopy& rows) { pack_chains(rows, copy_pairs, 2); }

/// Whether a lane rounds after each of its two multiply-adds, the high halves first: 1 + 2^-24 is
/// 1, and with 2^-23 it is 1 + 2^-23. In the other order, or rounded once, the sum is 1 + 2^-22.
NEURON_SIM_TARGET bool chains_high_halves_first() {
  const __m512 ones = _mm512_castsi512_ps(_mm512_set1_epi32(0x3F803F80));
  const __m512 factors = _mm512_castsi512_ps(_mm512_set1_epi32(0x33803400));  // 2^-24, 2^-23
  const __m512 sums = MultiplyAddPairs::add(_mm512_set1_ps(1), factors, ones);
  return _mm512_cmp_ps_mask(sums, _mm512_set1_ps(1 + 0x1p-23F), _CMP_EQ_OQ) == 0xFFFF;
}

}  // namespace

bool avx512_bf16_runs_here() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bf16") != 0 &&
         chains_high_halves_first();
}

const Bf16Product kAvx512Bf16 = {{2 * kLanes, kBlocks<MultiplyAddPairs, 2, Order::kBf16>},
                                 {4 * kLanes, kFlatBlocks<MultiplyAddPairs, Order::kBf16>},
                                 pack,
                                 pack};

}  // namespace neuron_sim
