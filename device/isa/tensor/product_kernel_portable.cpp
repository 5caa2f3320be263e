// Blocks of a product on any host: fused multiply-adds built from fp64 operations.

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {
namespace {

constexpr int64_t kLanes = 2;
constexpr int kVectors = 8;  // of a row

using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));
using Integers = int64_t __attribute__((vector_size(kLanes * sizeof(int64_t))));
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));

/// fp32 a * b + c with one rounding, all held as fp64. The product is exact in fp64. The sum is
/// rounded to odd: its nearest value with an even last bit and a remainder gives way to the
/// neighbour on the other side of the exact sum. Rounding that to fp32 is then rounding the exact
/// sum, subnormal results included (Boldo and Melquiond, "Emulation of FMA and correctly rounded
/// sums: proved algorithms using rounding to odd", 2008). Infinities and NaN have no remainder.
inline Doubles fused(Doubles a, Doubles b, Doubles c) {
  const Doubles product = a * b;
  const Doubles sum = product + c;
  const Doubles added = sum - product;
  const Doubles remainder = (product - (sum - added)) + (c - added);
  const Integers inexact = (remainder < 0) | (remainder > 0);
  const Integers bits = std::bit_cast<Integers>(sum);
  const Integers towards_zero = (remainder > 0) ^ (sum > 0);
  const Integers to_odd = (towards_zero | 1) & ((bits & 1) - 1) & inexact;
  const Doubles odd = std::bit_cast<Doubles>(bits + to_odd);
  return __builtin_convertvector(__builtin_convertvector(odd, Floats), Doubles);
}

template <int kRows>
void multiply(const BlockProduct& product) {
  const float* left = product.left;
  const float* right = product.right;
  Doubles sum[kRows][kVectors] = {};
  for (int64_t k = product.depth; k > 0;
       --k, left += product.left_pitch, right += product.right_pitch) {
    for (int v = 0; v < kVectors; ++v) {
      const float* at = right + v * kLanes;
      const Doubles values = {at[0], at[1]};
      for (int row = 0; row < kRows; ++row) {
        const double factor = left[row];
        sum[row][v] = fused(Doubles{factor, factor}, values, sum[row][v]);
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kVectors * kLanes; ++column) {
      float* target = product.target + row * product.target_pitch + column;
      float result = static_cast<float>(sum[row][column / kLanes][column % kLanes]);
      if (product.accumulate) result = *target + result;
      *target = std::isnan(result) ? std::bit_cast<float>(kProductNanBits) : result;
    }
  }
}

void copy_rows(const RowCopy& rows) {
  for (int64_t k = 0; k < rows.depth; ++k) {
    float* to = rows.to + k * rows.to_pitch;
    std::copy_n(rows.from + k * rows.from_pitch, rows.length, to);
    std::fill(to + rows.length, to + rows.padded, 0.0F);
  }
}

constexpr BlockMultiply kBlocks[] = {multiply<1>};

bool runs_here() { return true; }

}  // namespace

const ProductKernel kPortableProduct = {
    "portable", runs_here, {kVectors * kLanes, kBlocks}, {kVectors * kLanes, kBlocks}, copy_rows};

}  // namespace neuron_sim
