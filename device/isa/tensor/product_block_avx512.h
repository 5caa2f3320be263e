// Words in vectors of AVX-512, for the kernels that use it.

#include "device/vector/floats_avx512.h"
// After it:
#include "device/isa/tensor/product_block.h"

namespace neuron_sim {
namespace {

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

}  // namespace
}  // namespace neuron_sim
