// Blocks of a product on hosts with AVX-512F.

#include <immintrin.h>

#include <bit>

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {
namespace {

// These functions alone are compiled for the instruction set: code that is shared with other files
// must run on every host.
#define NEURON_SIM_TARGET __attribute__((target("avx512f")))
// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")

constexpr int64_t kLanes = 16;

/// 12 rows x 2 vectors are 24 sums of the 32 registers; the operations broadcast the factors.
template <int kRows, int kVectors>
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
        sum[row][v] = _mm512_fmadd_ps(factor, values[v], sum[row][v]);
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

constexpr BlockMultiply kBlocks[] = {multiply<1, 2>,  multiply<2, 2>,  multiply<3, 2>,
                                     multiply<4, 2>,  multiply<5, 2>,  multiply<6, 2>,
                                     multiply<7, 2>,  multiply<8, 2>,  multiply<9, 2>,
                                     multiply<10, 2>, multiply<11, 2>, multiply<12, 2>};
constexpr BlockMultiply kFlatBlocks[] = {multiply<1, 4>, multiply<2, 4>, multiply<3, 4>,
                                         multiply<4, 4>, multiply<5, 4>, multiply<6, 4>};

bool runs_here() { return __builtin_cpu_supports("avx512f") != 0; }

}  // namespace

const ProductKernel kAvx512Product = {
    "avx512", runs_here, {2 * kLanes, kBlocks}, {4 * kLanes, kFlatBlocks}};

}  // namespace neuron_sim
