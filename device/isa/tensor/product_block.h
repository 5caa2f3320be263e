// Blocks of a product in vectors of one instruction set. The file that includes this has included
// floats_avx2.h or another before, which name NEURON_SIM_TARGET, the instruction set of every
// function here: code that files share must run on every host. So these are functions of that file
// alone.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "device/isa/tensor/product_kernel.h"
#include "device/vector/subnormals_as_zeros.h"

// Unrolled early, so that the sums live in registers.
#define NEURON_SIM_UNROLL _Pragma("GCC unroll 16")
#define NEURON_SIM_INLINE [[gnu::always_inline]] NEURON_SIM_TARGET inline

namespace neuron_sim {
namespace {

NEURON_SIM_INLINE Floats load(const float* from) {
  Floats values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

NEURON_SIM_INLINE void store(const Floats& values, float* to) {
  std::memcpy(to, &values, sizeof values);
}

template <int kRows, int kVectors>
using Sums = Floats[kRows][kVectors];

/// The sums of `count` rows from `first` on.
template <bool kPacks, int kRows, int kVectors>
NEURON_SIM_INLINE void chain(const BlockProduct& product, int64_t first, int64_t count,
                             Sums<kRows, kVectors>& sum) {
  const int64_t left_pitch = product.left_pitch, right_pitch = product.right_pitch;
  const float* left = product.left + first * left_pitch;
  const float* right = product.right + first * right_pitch;
  float* packed = product.packed;
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = Floats{};
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < count; ++k) {
    Floats values[kVectors];
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      values[v] = load(right + v * kLanes);
      if constexpr (kPacks) store(values[v], packed + v * kLanes);
    }
    if constexpr (kPacks) packed += kVectors * kLanes;
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      const Floats factor = left[row] - Floats{};  // -0, too, stays what it is
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = fused(factor, values[v], sum[row][v]);
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
      sum[row][v] = load(rows + row * pitch + v * kLanes) + sum[row][v];
    }
  }
}

template <int kRows, int kVectors>
NEURON_SIM_INLINE void store_rows(const Sums<kRows, kVectors>& sum, float* rows, int64_t pitch) {
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
      store(sum[row][v], rows + row * pitch + v * kLanes);
    }
  }
}

/// The order of bf16. Even and odd sums and totals exceed the registers; the totals are in memory.
/// True when they may be wrong (SubnormalsAsZeros::rounded_late).
template <int kRows, int kVectors>
[[gnu::noinline]] NEURON_SIM_TARGET bool add_chains(const BlockProduct& product, float* total) {
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
  return mode.rounded_late();
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
    if (add_chains<kRows, kVectors>(product, total)) {
      add_chains_exactly(product, kRows, kVectors * kLanes, total);
    }
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = load(total + (row * kVectors + v) * kLanes);
      }
    }
  } else {
    chain<kOrder == Order::kPackingChain>(product, 0, product.depth, sum);
  }
  if (product.accumulate) add_rows(product.target, product.target_pitch, sum);
  Mask is_nan{};
  NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
    NEURON_SIM_UNROLL for (int v = 0; v < kVectors; v += 2) {
      is_nan |= unordered(sum[row][v], sum[row][kVectors > 1 ? v + 1 : v]);
    }
  }
  if (any(is_nan)) {
    const Floats nan = std::bit_cast<float>(kProductNanBits) - Floats{};
    NEURON_SIM_UNROLL for (int row = 0; row < kRows; ++row) {
      NEURON_SIM_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = sum[row][v] != sum[row][v] ? nan : sum[row][v];
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

}  // namespace
}  // namespace neuron_sim
