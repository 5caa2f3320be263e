// Blocks of a product on hosts with AVX2 and FMA.

#include "device/vector/floats_avx2.h"
// After it:
#include "device/isa/tensor/product_block.h"
#include "device/vector/instruction_sets.h"

namespace neuron_sim {
namespace {

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

// 6 rows x 2 vectors are 12 sums: enough to hide the latency of two multiply-adds per cycle, and
// with two vectors of `right` and one factor they fit into 16 registers.
template <Order kOrder>
constexpr auto kBlocks = blocks_of<2, kOrder>(std::make_integer_sequence<int, 6>());
template <Order kOrder>
constexpr auto kFlatBlocks = blocks_of<4, kOrder>(std::make_integer_sequence<int, 3>());

constexpr Bf16Product kBf16{
    {2 * kLanes, kBlocks<Order::kBf16>}, {4 * kLanes, kFlatBlocks<Order::kBf16>}, pack, pack};

bool runs_here() { return has_avx2() && __builtin_cpu_supports("fma") != 0; }

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
