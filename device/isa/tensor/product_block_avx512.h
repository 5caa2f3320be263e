#pragma once
// Blocks of a product in the vectors of AVX-512. The file that includes this defines
// NEURON_SIM_TARGET, the instruction set of every function here: code that files share must run on
// every host. So these are functions of that file alone.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "device/isa/tensor/product_kernel.h"
#include "device/isa/tensor/subnormals_as_zeros.h"

// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")
#define NEURON_SIM_INLINE [[gnu::always_inline]] NEURON_SIM_TARGET inline

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 16;

using Words [[gnu::vector_size(kLanes * sizeof(uint32_t))]] = uint32_t;

NEURON_SIM_TARGET __mmask16 lanes_before(int64_t count) {
  return static_cast<__mmask16>((1U << std::clamp<int64_t>(count, 0, kLanes)) - 1);
}

/// Words of a row from `i` on, zeros from `length` on.
NEURON_SIM_TARGET Words words_at(const float* row, int64_t i, int64_t length) {
  if (i + kLanes <= length) return reinterpret_cast<Words>(_mm512_loadu_si512(row + i));
  return reinterpret_cast<Words>(_mm512_maskz_loadu_epi32(lanes_before(length - i), row + i));
}

/// Writes them up to `padded`.
NEURON_SIM_TARGET void write_words(Words words, float* row, int64_t i, int64_t padded) {
  const auto bits = reinterpret_cast<__m512i>(words);
  if (i + kLanes <= padded) return _mm512_storeu_si512(row + i, bits);
  _mm512_mask_storeu_epi32(row + i, lanes_before(padded - i), bits);
}

[[maybe_unused]] NEURON_SIM_TARGET void transpose(Words (&words)[kLanes]) {
  // Exchanges the blocks beside the diagonal, of 8 x 8, 4 x 4, 2 x 2 and 1 x 1 words.
  NEURON_SIM_UNROLL for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    Words first, second;  // of two rows that are beside each other
    for (int64_t i = 0; i < kLanes; ++i) {
      const auto lane = static_cast<uint32_t>(i);
      const bool moves = (i & half) != 0;
      first[i] = moves ? lane - static_cast<uint32_t>(half) + kLanes : lane;
      second[i] = moves ? lane + kLanes : lane + static_cast<uint32_t>(half);
    }
    NEURON_SIM_UNROLL for (int64_t i = 0; i < kLanes; ++i) {
      if ((i & half) != 0) continue;
      const Words a = words[i], b = words[i + half];
      words[i] = __builtin_shuffle(a, b, first);
      words[i + half] = __builtin_shuffle(a, b, second);
    }
  }
}

[[maybe_unused]] NEURON_SIM_TARGET void copy_rows(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; ++k) {
    const float* from = rows.from + k * rows.from_pitch;
    float* to = rows.to + k * rows.to_pitch;
    for (int64_t i = 0; i < rows.padded; i += kLanes) {
      write_words(words_at(from, i, rows.length), to, i, rows.padded);
    }
  }
}

template <int kRows, int kVectors>
using Sums = __m512[kRows][kVectors];

/// The sums of `count` rows from `first` on. 12 rows x 2 vectors are 24 sums of the 32 registers;
/// the operations broadcast the factors.
template <bool kPacks, int kRows, int kVectors>
NEURON_SIM_INLINE void chain(const BlockProduct& product, int64_t first, int64_t count,
                             Sums<kRows, kVectors>& sum) {
  const int64_t left_pitch = product.left_pitch, right_pitch = product.right_pitch;
  const float* left = product.left + first * left_pitch;
  const float* right = product.right + first * right_pitch;
  float* packed = product.packed;
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm512_setzero_ps();
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < count; ++k) {
    __m512 values[kVectors];
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      values[v] = _mm512_loadu_ps(right + v * kLanes);
      if constexpr (kPacks) _mm512_store_ps(packed + v * kLanes, values[v]);
    }
    if constexpr (kPacks) packed += kVectors * kLanes;
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const __m512 factor = _mm512_set1_ps(left[row]);
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm512_fmadd_ps(factor, values[v], sum[row][v]);
      }
    }
    left += left_pitch;
    right += right_pitch;
  }
}

/// Adds the sums to rows.
template <int kRows, int kVectors>
NEURON_SIM_INLINE void add_rows(const float* rows, int64_t pitch, Sums<kRows, kVectors>& sum) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[row][v] = _mm512_add_ps(_mm512_loadu_ps(rows + row * pitch + v * kLanes), sum[row][v]);
    }
  }
}

template <int kRows, int kVectors>
NEURON_SIM_INLINE void store_rows(const Sums<kRows, kVectors>& sum, float* rows, int64_t pitch) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(rows + row * pitch + v * kLanes, sum[row][v]);
    }
  }
}

/// The order of bf16. Even and odd sums and totals exceed the registers; the totals are in memory.
template <int kRows, int kVectors>
[[gnu::noinline]] NEURON_SIM_TARGET void add_chains(const BlockProduct& product, float* total) {
  constexpr int64_t kPitch = kVectors * kLanes;
  alignas(64) float even[kRows * kPitch];
  const SubnormalsAsZeros mode;
  int64_t done = 0, row = 0;
  do {
    const int64_t count = chain_length(product.depth - done);
    Sums<kRows, kVectors> sum;
    chain<false>(product, row, count, sum);
    store_rows(sum, even, kPitch);
    chain<false>(product, row + count, count, sum);
    add_rows(even, kPitch, sum);
    add_rows(total, kPitch, sum);
    store_rows(sum, total, kPitch);
    row += 2 * count;
    done += kBf16Depth;
  } while (done < product.depth);
}

enum class Order : uint8_t { kChain, kPackingChain, kBf16 };

/// The target, whose rows are pages apart, is brought near while the sums are computed.
template <int kRows, int kVectors, Order kOrder>
NEURON_SIM_TARGET void multiply(const BlockProduct& product) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      __builtin_prefetch(product.target + row * product.target_pitch + v * kLanes, 1);
    }
  }
  Sums<kRows, kVectors> sum;
  if constexpr (kOrder == Order::kBf16) {
    alignas(64) float total[kRows * kVectors * kLanes] = {};
    add_chains<kRows, kVectors>(product, total);
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm512_load_ps(total + (row * kVectors + v) * kLanes);
      }
    }
  } else {
    chain<kOrder == Order::kPackingChain>(product, 0, product.depth, sum);
  }
  if (product.accumulate) add_rows(product.target, product.target_pitch, sum);
  __mmask16 is_nan = 0;
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; v += 2) {
      is_nan |= _mm512_cmp_ps_mask(sum[row][v], sum[row][kVectors > 1 ? v + 1 : v], _CMP_UNORD_Q);
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
  store_rows(sum, product.target, product.target_pitch);
}

/// multiply() of 1 to sizeof...(kRows) rows.
template <int kVectors, Order kOrder, int... kRows>
constexpr std::array<BlockMultiply, sizeof...(kRows)> blocks_of(
    std::integer_sequence<int, kRows...>) {
  return {multiply<kRows + 1, kVectors, kOrder>...};
}

template <int kVectors, Order kOrder>
constexpr auto kBlocks = blocks_of<kVectors, kOrder>(std::make_integer_sequence<int, 12>());
template <Order kOrder>
constexpr auto kFlatBlocks = blocks_of<4, kOrder>(std::make_integer_sequence<int, 6>());

}  // namespace
}  // namespace neuron_sim
