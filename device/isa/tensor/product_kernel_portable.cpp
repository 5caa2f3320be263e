// Blocks of a product on any host: fused multiply-adds built from fp64 operations.

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 2;
constexpr int kVectors = 8;  // of a row

using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));
using Integers = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));

/// Numbers nearer to zero than `limit` become zeros of their signs.
inline Doubles flushed(Doubles values, double limit) {
  const Integers flushes = (values < limit) & (values > -limit);
  const Integers sign = std::bit_cast<Integers>(Doubles{-0.0, -0.0});
  return std::bit_cast<Doubles>(std::bit_cast<Integers>(values) & (~flushes | sign));
}

constexpr double kLeastNormal = FLT_MIN;
/// From here on, numbers round to kLeastNormal when the exponent of fp32 has no lower end.
constexpr double kRoundsToNormal = kLeastNormal * (1 - 0x1p-25);

/// fp32 a * b + c with one rounding, all held as fp64. The product is exact in fp64. The sum is
/// rounded to odd: its nearest value with an even last bit and a remainder gives way to the
/// neighbour on the other side of the exact sum. Rounding that to fp32 is then rounding the exact
/// sum, subnormal results included (Boldo and Melquiond, "Emulation of FMA and correctly rounded
/// sums: proved algorithms using rounding to odd", 2008). Infinities and NaN have no remainder.
template <bool kBf16>
inline Doubles fused(Doubles a, Doubles b, Doubles c) {
  const Doubles product = a * b;
  const Doubles sum = product + c;
  const Doubles added = sum - product;
  const Doubles remainder = (product - (sum - added)) + (c - added);
  const Integers inexact = (remainder < 0) | (remainder > 0);
  const Integers bits = std::bit_cast<Integers>(sum);
  const Integers towards_zero = (remainder > 0) ^ (sum > 0);
  const Integers to_odd = (towards_zero | 1) & ((bits & 1) - 1) & inexact;
  Doubles odd = std::bit_cast<Doubles>(bits + to_odd);
  if (kBf16) odd = flushed(odd, kRoundsToNormal);
  return __builtin_convertvector(__builtin_convertvector(odd, Floats), Doubles);
}

using Sums = Doubles[kVectors];

/// The sums of `count` rows from `first` on.
template <bool kBf16>
void chain(const BlockProduct& product, int64_t first, int64_t count, Sums& sum) {
  const float* left = product.left + first * product.left_pitch;
  const float* right = product.right + first * product.right_pitch;
  std::fill_n(sum, kVectors, Doubles{});
  for (int64_t k = 0; k < count; ++k, left += product.left_pitch, right += product.right_pitch) {
    Doubles factor = {*left, *left};
    if (kBf16) factor = flushed(factor, kLeastNormal);
    for (int v = 0; v < kVectors; ++v) {
      const float* at = right + v * kLanes;
      Doubles values = {at[0], at[1]};
      if (kBf16) values = flushed(values, kLeastNormal);
      sum[v] = fused<kBf16>(factor, values, sum[v]);
    }
  }
}

float element(const Sums& sum, int64_t column) {
  return static_cast<float>(sum[column / kLanes][column % kLanes]);
}

constexpr int64_t kColumns = kVectors * kLanes;

float without_subnormal(float value) {
  return std::fabs(value) < FLT_MIN ? std::copysign(0.0F, value) : value;
}

void add_chains(const BlockProduct& product, float* total) {
  std::fill_n(total, kColumns, 0.0F);
  int64_t done = 0, row = 0;
  do {
    const int64_t length = chain_length(product.depth - done);
    Sums even, odd;
    chain<true>(product, row, length, even);
    chain<true>(product, row + length, length, odd);
    for (int64_t i = 0; i < kColumns; ++i) {
      const float sum = without_subnormal(element(even, i) + element(odd, i));
      total[i] = without_subnormal(total[i] + sum);
    }
    row += 2 * length;
    done += kBf16Depth;
  } while (done < product.depth);
}

/// One row.
template <bool kBf16>
void multiply(const BlockProduct& product) {
  float result[kColumns];
  if (kBf16) {
    add_chains(product, result);
  } else {
    Sums sum;
    chain<false>(product, 0, product.depth, sum);
    for (int64_t i = 0; i < kColumns; ++i) result[i] = element(sum, i);
  }
  for (int64_t i = 0; i < kColumns; ++i) {
    if (product.accumulate) result[i] = product.target[i] + result[i];
    product.target[i] = std::isnan(result[i]) ? std::bit_cast<float>(kProductNanBits) : result[i];
  }
}

void pack(const RowCopy& rows) { pack_chains(rows, copy_whole_rows); }

constexpr BlockMultiply kBlocks[] = {multiply<false>}, kBf16Blocks[] = {multiply<true>};
constexpr BlockShape kShape{kVectors * kLanes, kBlocks};
constexpr Bf16Product kBf16{{kVectors * kLanes, kBf16Blocks}, {}, pack, pack};

bool runs_here() { return true; }

}  // namespace

void add_chains_exactly(const BlockProduct& product, int64_t rows, int64_t columns, float* total) {
  BlockProduct block = product;
  for (int64_t row = 0; row < rows; ++row, total += columns) {
    block.left = product.left + row;
    for (int64_t column = 0; column < columns; column += kColumns) {
      block.right = product.right + column;
      add_chains(block, total + column);
    }
  }
}

const ProductKernel kPortableProduct = {"portable",      runs_here,      kShape, kShape,
                                        copy_whole_rows, transpose_rows, {},     &kBf16};

}  // namespace neuron_sim
