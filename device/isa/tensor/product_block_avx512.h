#pragma once
// Blocks of a product in the vectors of AVX-512. The file that includes this defines
// NEURON_SIM_TARGET, the instruction set of every function here: code that files share must run on
// every host. So these are functions of that file alone.

#include <immintrin.h>

#include <bit>

#include "device/isa/tensor/product_kernel.h"

// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 16;

struct MultiplyAdd {
  NEURON_SIM_TARGET static __m512 add(__m512 sum, __m512 factor, __m512 values) {
    return _mm512_fmadd_ps(factor, values, sum);
  }
};

/// 12 rows x 2 vectors are 24 sums of the 32 registers; the operations broadcast the factors.
template <typename Operation, int kRows, int kVectors>
NEURON_SIM_TARGET void multiply(const BlockProduct& product) {
  const int64_t left_pitch = product.left_pitch, right_pitch = product.right_pitch;
  const float* left = product.left;
  const float* right = product.right;
  __m512 sum[kRows][kVectors];
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm512_setzero_ps();
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < product.depth; ++k) {
    __m512 values[kVectors];
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      values[v] = _mm512_loadu_ps(right + v * kLanes);
    }
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const __m512 factor = _mm512_set1_ps(left[row]);
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = Operation::add(sum[row][v], factor, values[v]);
      }
    }
    left += left_pitch;
    right += right_pitch;
  }
  if (product.accumulate) {
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const float* target = product.target + row * product.target_pitch;
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm512_add_ps(_mm512_loadu_ps(target + v * kLanes), sum[row][v]);
      }
    }
  }
  __mmask16 is_nan = 0;
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; v += 2) {
      is_nan |= _mm512_cmp_ps_mask(sum[row][v], sum[row][v + 1], _CMP_UNORD_Q);
    }
  }
  const bool any_nan = is_nan != 0;
  const __m512 nan = _mm512_set1_ps(std::bit_cast<float>(kProductNanBits));
  if (any_nan) {
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        const __mmask16 is_nan_here = _mm512_cmp_ps_mask(sum[row][v], sum[row][v], _CMP_UNORD_Q);
        sum[row][v] = _mm512_mask_blend_ps(is_nan_here, sum[row][v], nan);
      }
    }
  }
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    float* target = product.target + row * product.target_pitch;
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(target + v * kLanes, sum[row][v]);
    }
  }
}

template <typename Operation>
constexpr BlockMultiply kBlocks[] = {
    multiply<Operation, 1, 2>,  multiply<Operation, 2, 2>,  multiply<Operation, 3, 2>,
    multiply<Operation, 4, 2>,  multiply<Operation, 5, 2>,  multiply<Operation, 6, 2>,
    multiply<Operation, 7, 2>,  multiply<Operation, 8, 2>,  multiply<Operation, 9, 2>,
    multiply<Operation, 10, 2>, multiply<Operation, 11, 2>, multiply<Operation, 12, 2>};
template <typename Operation>
constexpr BlockMultiply kFlatBlocks[] = {multiply<Operation, 1, 4>, multiply<Operation, 2, 4>,
                                         multiply<Operation, 3, 4>, multiply<Operation, 4, 4>,
                                         multiply<Operation, 5, 4>, multiply<Operation, 6, 4>};

}  // namespace
}  // namespace neuron_sim
