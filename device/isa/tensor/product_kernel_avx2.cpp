// Blocks of a product on hosts with AVX2 and FMA.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "device/isa/tensor/product_kernel.h"
#include "device/isa/tensor/subnormals_as_zeros.h"

namespace neuron_sim {
namespace {

// These functions alone are compiled for the instruction set: code that is shared with other files
// must run on every host.
#define NEURON_SIM_TARGET __attribute__((target("avx2,fma")))
// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")
#define NEURON_SIM_INLINE [[gnu::always_inline]] NEURON_SIM_TARGET inline

constexpr int64_t kLanes = 8;

template <int kRows, int kVectors>
using Sums = __m256[kRows][kVectors];

/// The sums of `count` rows from `first` on. 6 rows x 2 vectors are 12 sums: enough
/// to hide the latency of two multiply-adds per cycle, and with two vectors of `right` and one
/// factor they fit into 16 registers.
template <bool kPacks, int kRows, int kVectors>
NEURON_SIM_INLINE void chain(const BlockProduct& product, int64_t first, int64_t count,
                             Sums<kRows, kVectors>& sum) {
  const int64_t left_pitch = product.left_pitch, right_pitch = product.right_pitch;
  const float* left = product.left + first * left_pitch;
  const float* right = product.right + first * right_pitch;
  float* packed = product.packed;
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = _mm256_setzero_ps();
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < count; ++k) {
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
}

/// Adds the sums to rows.
template <int kRows, int kVectors>
NEURON_SIM_INLINE void add_rows(const float* rows, int64_t pitch, Sums<kRows, kVectors>& sum) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[row][v] = _mm256_add_ps(_mm256_loadu_ps(rows + row * pitch + v * kLanes), sum[row][v]);
    }
  }
}

template <int kRows, int kVectors>
NEURON_SIM_INLINE void store_rows(const Sums<kRows, kVectors>& sum, float* rows, int64_t pitch) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      _mm256_storeu_ps(rows + row * pitch + v * kLanes, sum[row][v]);
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
    alignas(64) float total[size_t{kRows} * kVectors * kLanes] = {};
    add_chains<kRows, kVectors>(product, total);
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = _mm256_load_ps(total + (row * kVectors + v) * kLanes);
      }
    }
  } else {
    chain<kOrder == Order::kPackingChain>(product, 0, product.depth, sum);
  }
  if (product.accumulate) add_rows(product.target, product.target_pitch, sum);
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
  store_rows(sum, product.target, product.target_pitch);
}

NEURON_SIM_TARGET __m256i lanes_before(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const auto present = static_cast<int>(std::clamp<int64_t>(count, 0, kLanes));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(present), lanes);
}

/// Stores the first `count` of 8 lanes; a masked store takes many times longer.
NEURON_SIM_INLINE void store_lanes(__m256 values, int64_t count, float* to) {
  __m128 lanes = _mm256_castps256_ps128(values);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, lanes);
    lanes = _mm256_extractf128_ps(values, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), lanes);
    lanes = _mm_movehl_ps(lanes, lanes);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, lanes);
}

NEURON_SIM_TARGET void copy_rows(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; ++k) {
    const float* from = rows.from + k * rows.from_pitch;
    float* to = rows.to + k * rows.to_pitch;
    int64_t i = 0;
    for (; i + kLanes <= rows.length; i += kLanes) {
      _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    }
    for (; i + kLanes <= rows.padded; i += kLanes) {
      _mm256_storeu_ps(to + i, _mm256_maskload_ps(from + i, lanes_before(rows.length - i)));
    }
    if (i < rows.padded) {
      const __m256 values = _mm256_maskload_ps(from + i, lanes_before(rows.length - i));
      store_lanes(values, rows.padded - i, to + i);
    }
  }
}

/// Rows [0, 8) of columns [0, 4) become four rows of 8.
NEURON_SIM_INLINE void transpose_8_by_4(const float* from, int64_t pitch, float* to,
                                        int64_t to_pitch) {
  __m256 rows[4];  // i and i + 4
  NEURON_SIM_UNROLL for (int64_t i = 0; i < 4; ++i) {
    rows[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + i * pitch)),
                                   _mm_loadu_ps(from + (i + 4) * pitch), 1);
  }
  const __m256 low[] = {_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpacklo_ps(rows[2], rows[3])};
  const __m256 high[] = {_mm256_unpackhi_ps(rows[0], rows[1]),
                         _mm256_unpackhi_ps(rows[2], rows[3])};
  constexpr int kFirstHalves = 0x44, kSecondHalves = 0xEE;
  _mm256_storeu_ps(to, _mm256_shuffle_ps(low[0], low[1], kFirstHalves));
  _mm256_storeu_ps(to + to_pitch, _mm256_shuffle_ps(low[0], low[1], kSecondHalves));
  _mm256_storeu_ps(to + 2 * to_pitch, _mm256_shuffle_ps(high[0], high[1], kFirstHalves));
  _mm256_storeu_ps(to + 3 * to_pitch, _mm256_shuffle_ps(high[0], high[1], kSecondHalves));
}

/// A cache line of 8 rows after another: those of more may share a set of the cache.
NEURON_SIM_TARGET void transpose_16_rows(const RowCopy& rows) {
  constexpr int64_t kLine = 2 * kLanes, kWords = 4;
  const int64_t whole = rows.depth == 2 * kLanes ? rows.length / kLine * kLine : 0;
  for (int64_t i = 0; i < whole; i += kLine) {
    for (int64_t row = 0; row < 2 * kLanes; row += kLanes) {
      for (int64_t word = i; word < i + kLine; word += kWords) {
        transpose_8_by_4(rows.from + row * rows.from_pitch + word, rows.from_pitch,
                         rows.to + word * rows.to_pitch + row, rows.to_pitch);
      }
    }
  }
  RowCopy rest = rows;
  rest.length -= whole;
  rest.from += whole;
  rest.to += whole * rows.to_pitch;
  transpose_rows(rest);
}

void pack(const RowCopy& rows) { pack_chains(rows, copy_rows); }

/// multiply() of 1 to sizeof...(kRows) rows.
template <int kVectors, Order kOrder, int... kRows>
constexpr std::array<BlockMultiply, sizeof...(kRows)> blocks_of(
    std::integer_sequence<int, kRows...>) {
  return {multiply<kRows + 1, kVectors, kOrder>...};
}

template <Order kOrder>
constexpr auto kBlocks = blocks_of<2, kOrder>(std::make_integer_sequence<int, 6>());
template <Order kOrder>
constexpr auto kFlatBlocks = blocks_of<4, kOrder>(std::make_integer_sequence<int, 3>());

constexpr Bf16Product kBf16{
    {2 * kLanes, kBlocks<Order::kBf16>}, {4 * kLanes, kFlatBlocks<Order::kBf16>}, pack, pack};

bool runs_here() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

}  // namespace

const ProductKernel kAvx2Product = {
    "avx2",
    runs_here,
    {2 * kLanes, kBlocks<Order::kChain>, kBlocks<Order::kPackingChain>},
    {4 * kLanes, kFlatBlocks<Order::kChain>},
    copy_rows,
    transpose_16_rows,
    {},
    &kBf16};

}  // namespace neuron_sim
