// Blocks of a product on hosts with AVX2 and FMA.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {
namespace {

// These functions alone are compiled for the instruction set: code that is shared with other files
// must run on every host.
#define NEURON_SIM_TARGET __attribute__((target("avx2,fma")))
// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")

constexpr int64_t kLanes = 8;

/// 6 rows x 2 vectors are 12 sums: enough to hide the latency of two multiply-adds per cycle, and
/// with two vectors of `right` and one factor they fit into 16 registers. The target, whose rows
/// are pages apart, is brought near while the sums are computed.
template <int kRows, int kVectors, bool kPacks>
NEURON_SIM_TARGET void multiply(const BlockProduct& product) {
  const int64_t left_pitch = product.left_pitch, right_pitch = product.right_pitch;
  const float* left = product.left;
  const float* right = product.right;
  float* packed = product.packed;
  __m256 sum[kRows][kVectors];
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    __builtin_prefetch(product.target + row * product.target_pitch, 1);
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm256_setzero_ps();
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < product.depth; ++k) {
    __m256 values[kVectors];
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      values[v] = _mm256_loadu_ps(right + v * kLanes);
      if constexpr (kPacks) _mm256_store_ps(packed + v * kLanes, values[v]);
    }
    if constexpr (kPacks) packed += kVectors * kLanes;
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const __m256 factor = _mm256_broadcast_ss(left + row);
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm256_fmadd_ps(factor, values[v], sum[row][v]);
      }
    }
    left += left_pitch;
    right += right_pitch;
  }
  if (product.accumulate) {
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const float* target = product.target + row * product.target_pitch;
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm256_add_ps(_mm256_loadu_ps(target + v * kLanes), sum[row][v]);
      }
    }
  }
  __m256 is_nan = _mm256_setzero_ps();
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; v += 2) {
      is_nan = _mm256_or_ps(is_nan, _mm256_cmp_ps(sum[row][v], sum[row][v + 1], _CMP_UNORD_Q));
    }
  }
  const bool any_nan = _mm256_movemask_ps(is_nan) != 0;
  const __m256 nan = _mm256_set1_ps(std::bit_cast<float>(kProductNanBits));
  if (any_nan) {
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        const __m256 is_nan_here = _mm256_cmp_ps(sum[row][v], sum[row][v], _CMP_UNORD_Q);
        sum[row][v] = _mm256_blendv_ps(sum[row][v], nan, is_nan_here);
      }
    }
  }
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    float* target = product.target + row * product.target_pitch;
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      _mm256_storeu_ps(target + v * kLanes, sum[row][v]);
    }
  }
}

NEURON_SIM_TARGET __m256i lanes_before(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto present = static_cast<int>(std::clamp<int64_t>(count, 0, kLanes));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(present), lanes);
}

NEURON_SIM_TARGET void copy_rows(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; ++k) {
    const float* from = rows.from + k * rows.from_pitch;
    float* to = rows.to + k * rows.to_pitch;
    for (int64_t i = 0; i < rows.padded; i += kLanes) {
      const __m256 values = _mm256_maskload_ps(from + i, lanes_before(rows.length - i));
      _mm256_maskstore_ps(to + i, lanes_before(rows.padded - i), values);
    }
  }
}

/// multiply() of 1 to sizeof...(kRows) rows.
template <int kVectors, bool kPacks, int... kRows>
constexpr std::array<BlockMultiply, sizeof...(kRows)> blocks_of(
    std::integer_sequence<int, kRows...>) {
  return {multiply<kRows + 1, kVectors, kPacks>...};
}

template <bool kPacks>
constexpr auto kBlocks = blocks_of<2, kPacks>(std::make_integer_sequence<int, 6>());
constexpr auto kFlatBlocks = blocks_of<4, false>(std::make_integer_sequence<int, 3>());

bool runs_here() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

}  // namespace

const ProductKernel kAvx2Product = {"avx2",
                                    runs_here,
                                    {2 * kLanes, kBlocks<false>, kBlocks<true>},
                                    {4 * kLanes, kFlatBlocks},
                                    copy_rows};

}  // namespace neuron_sim
