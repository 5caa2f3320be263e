// Blocks of a product of bf16 in the tiles of AMX.

#define NEURON_SIM_TARGET __attribute__((target("avx512f,amx-tile,amx-bf16")))
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "device/isa/tensor/product_bf16.h"
#include "device/isa/tensor/product_block_avx512.h"
#include "device/isa/tensor/tile_multiply.h"
#include "device/vector/instruction_sets.h"

namespace neuron_sim {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileWords = kTileRows * kLanes;  // 16 rows of 32 values of bf16

/// What LDTILECFG reads: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

NEURON_SIM_TARGET void begin() {
  static constexpr TileShapes kShapes;
  _tile_loadconfig(&kShapes);
}

NEURON_SIM_TARGET void end() { _tile_release(); }

/// Pairs of values of two rows as words, the first in the low halves; zeros beyond the last row.
NEURON_SIM_TARGET Words pairs_at(const RowCopy& rows, int64_t k, int64_t i) {
  const float* first = rows.from + k * rows.from_pitch;
  const Words low = words_at(first, i, k < rows.depth ? rows.length : 0);
  const Words high = words_at(first + rows.from_pitch, i, k + 1 < rows.depth ? rows.length : 0);
  return (high & 0xFFFF0000U) | low >> 16;
}

int64_t blocks_of_depth(int64_t depth) {
  return std::max<int64_t>(1, (depth + kBf16Depth - 1) / kBf16Depth);
}

/// Columns: each row of the copy holds a pair for each of them.
NEURON_SIM_TARGET void pack(const RowCopy& rows) {
  float* to = rows.to;
  const int64_t depth = blocks_of_depth(rows.depth) * kBf16Depth;
  for (int64_t k = 0; k < depth; k += 2, to += rows.to_pitch) {
    for (int64_t i = 0; i < rows.padded; i += kLanes) {
      write_words(pairs_at(rows, k, i), to, i, rows.padded);
    }
  }
}

/// Packs the rows of a block into tiles of 16 rows, the tiles of the first 16 rows before the
/// others.
NEURON_SIM_TARGET void pack_left(const RowCopy& rows) {
  float* to = rows.to;
  const int64_t depth = blocks_of_depth(rows.depth) * kBf16Depth;
  for (int64_t i = 0; i < rows.length; i += kLanes) {
    for (int64_t k = 0; k < depth; k += kBf16Depth) {
      Words words[kLanes];
      for (int64_t j = 0; j < kLanes; ++j) words[j] = pairs_at(rows, k + 2 * j, i);
      transpose(words);
      for (const Words& row : words) {
        _mm512_storeu_si512(to, reinterpret_cast<__m512i>(row));
        to += kLanes;
      }
    }
  }
}

/// Two tiles of rows, unless one suffices, by two of columns: target[32 or 16, 32].
template <bool kTall>
NEURON_SIM_TARGET void multiply_tiles(const BlockProduct& product, float* target) {
  constexpr size_t kPitch = 2 * kLanes * sizeof(float);
  const auto right_pitch = static_cast<size_t>(product.right_pitch) * sizeof(float);
  const int64_t blocks = blocks_of_depth(product.depth);
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTall) _tile_zero(2);
  if constexpr (kTall) _tile_zero(3);
  const float* left = product.left;
  const float* right = product.right;
  for (int64_t block = 0; block < blocks; ++block) {
    _tile_loadd(4, left, 64);
    _tile_loadd(6, right, right_pitch);
    _tile_loadd(7, right + kLanes, right_pitch);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kTall) {
      _tile_loadd(5, left + blocks * kTileWords, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    left += kTileWords;
    right += kTileRows * product.right_pitch;
  }
  _tile_stored(0, target, kPitch);
  _tile_stored(1, target + kLanes, kPitch);
  if constexpr (kTall) _tile_stored(2, target + 2 * kTileWords, kPitch);
  if constexpr (kTall) _tile_stored(3, target + 2 * kTileWords + kLanes, kPitch);
}

/// A block of 1 to 32 rows by 32 columns. The target, whose rows are pages apart, is brought near
/// while the sums are computed.
NEURON_SIM_TARGET void multiply_block(const BlockProduct& product) {
  alignas(64) float sums[4 * kTileWords];
  for (int64_t row = 0; row < product.rows; ++row) {
    __builtin_prefetch(product.target + row * product.target_pitch, 1);
    __builtin_prefetch(product.target + row * product.target_pitch + kLanes, 1);
  }
  if (product.rows > kTileRows) {
    multiply_tiles<true>(product, sums);
  } else {
    multiply_tiles<false>(product, sums);
  }
  const __m512 nan = _mm512_set1_ps(std::bit_cast<float>(kProductNanBits));
  for (int64_t row = 0; row < product.rows; ++row) {
    float* target = product.target + row * product.target_pitch;
    NEURON_SIM_UNROLL for (int64_t i = 0; i < 2 * kLanes; i += kLanes) {
      __m512 sum = _mm512_load_ps(sums + row * 2 * kLanes + i);
      if (product.accumulate) sum = _mm512_add_ps(_mm512_loadu_ps(target + i), sum);
      const __mmask16 is_nan = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
      _mm512_storeu_ps(target + i, _mm512_mask_blend_ps(is_nan, sum, nan));
    }
  }
}

constexpr int64_t kTurnedDepth = 4 * kBf16Depth;  // four tiles

/// Loads the tiles 4 to 7 with 16 rows of a turned operand, of which the last ones may be zeros.
NEURON_SIM_TARGET void load_turned(const TileProduct& product, int64_t first) {
  alignas(64) std::byte rows[kTileRows * kTurnedDepth * 2] = {};
  const std::byte* from = product.turned->data + first * product.turned->pitch;
  auto pitch = static_cast<size_t>(product.turned->pitch);
  const int64_t bytes = product.depth * 2, count = std::min(kTileRows, product.elements - first);
  if (count < kTileRows || bytes < kTurnedDepth * 2) {
    for (int64_t row = 0; row < count; ++row) {
      std::memcpy(rows + row * kTurnedDepth * 2, from + row * product.turned->pitch,
                  static_cast<size_t>(bytes));
    }
    from = rows;
    pitch = kTurnedDepth * 2;
  } else {
    const int64_t next = std::min(2 * kTileRows, product.elements - first);
    for (int64_t row = kTileRows; row < next; ++row) {
      for (int64_t byte = 0; byte < bytes; byte += 64) {
        __builtin_prefetch(from + row * product.turned->pitch + byte);
      }
    }
  }
  _tile_loadd(4, from, pitch);
  _tile_loadd(5, from + 64, pitch);
  _tile_loadd(6, from + 128, pitch);
  _tile_loadd(7, from + 192, pitch);
}

/// Adds the transpose of sums[16, 16] to the target, or puts it there.
NEURON_SIM_TARGET void add_transposed(const float* sums, int64_t rows, int64_t columns,
                                      float* target, const TileProduct& product) {
  Words words[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) words[i] = words_at(sums + i * kLanes, 0, kLanes);
  transpose(words);
  const __m512 nan = _mm512_set1_ps(std::bit_cast<float>(kProductNanBits));
  for (int64_t row = 0; row < rows; ++row, target += product.target_pitch) {
    auto sum = reinterpret_cast<__m512>(words[row]);
    if (product.accumulate) {
      sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes_before(columns), target), sum);
    }
    const __mmask16 is_nan = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
    sum = _mm512_mask_blend_ps(is_nan, sum, nan);
    _mm512_mask_storeu_ps(target, lanes_before(columns), sum);
  }
}

/// Computes the transpose of the product, whose left tiles are rows of the turned operand as they
/// lie in memory.
NEURON_SIM_TARGET bool multiply_turned(const TileProduct& product, float* pairs) {
  if (product.turned->dtype != Dtype::kBfloat16 || product.depth > kTurnedDepth) return false;
  const int64_t pitch = (product.columns + kLanes - 1) / kLanes * kLanes;
  pack({product.depth, product.columns, product.stationary, product.stationary_pitch, pairs, pitch,
        pitch});
  const int64_t blocks = blocks_of_depth(product.depth);
  const auto pair_pitch = static_cast<size_t>(pitch) * sizeof(float);
  alignas(64) float sums[kTileWords];
  for (int64_t first = 0; first < product.elements; first += kTileRows) {
    load_turned(product, first);
    for (int64_t column = 0; column < product.columns; column += kLanes) {
      const float* right = pairs + column;
      _tile_zero(0);
      _tile_loadd(1, right, pair_pitch);
      _tile_dpbf16ps(0, 4, 1);
      if (blocks > 1) _tile_loadd(2, right + kTileRows * pitch, pair_pitch);
      if (blocks > 1) _tile_dpbf16ps(0, 5, 2);
      if (blocks > 2) _tile_loadd(3, right + 2 * kTileRows * pitch, pair_pitch);
      if (blocks > 2) _tile_dpbf16ps(0, 6, 3);
      if (blocks > 3) _tile_loadd(1, right + 3 * kTileRows * pitch, pair_pitch);
      if (blocks > 3) _tile_dpbf16ps(0, 7, 1);
      _tile_stored(0, sums, 64);
      add_transposed(sums, std::min(kLanes, product.columns - column),
                     std::min(kTileRows, product.elements - first),
                     product.target + column * product.target_pitch + first, product);
    }
  }
  return true;
}

template <size_t... kRows>
constexpr std::array<BlockMultiply, sizeof...(kRows)> blocks_of(std::index_sequence<kRows...>) {
  return {((void)kRows, multiply_block)...};
}
constexpr auto kBlocks32 = blocks_of(std::make_index_sequence<2 * kTileRows>());

/// Linux lets a process use AMX tiles only after it has asked for permission.
bool tiles_are_permitted() {
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace

bool amx_runs_here() {
  static const bool runs =
      has_avx512() && __builtin_cpu_supports("amx-bf16") != 0 && tiles_are_permitted();
  return runs;
}

const Bf16Product kAmxBf16 = {{2 * kLanes, kBlocks32}, {}, pack_left, pack, begin, end,
                              multiply_turned};

}  // namespace neuron_sim
