#pragma once
// The product of two tiles of fp32, as nc_matmul computes it.

#include <cstdint>

#include "device/instruction/float_operand.h"
#include "device/isa/tensor/later_rows.h"
#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {

/// C[columns, elements] (+)= A[depth, columns].T @ B[depth, elements], row-major fp32 matrices
/// whose rows are `pitch` floats apart (pitch >= row length).
struct TileProduct {
  int64_t columns = 0;   ///< M
  int64_t elements = 0;  ///< N
  int64_t depth = 0;     ///< K
  const float* stationary = nullptr;
  int64_t stationary_pitch = 0;
  const float* moving = nullptr;
  int64_t moving_pitch = 0;
  float* target = nullptr;
  int64_t target_pitch = 0;
  bool accumulate = false;  ///< add to C with one fp32 addition per element, else overwrite C
  bool bf16 = false;  ///< every value of A and B is one of bf16, or too small for its exponents
  /// Where the elements of a row of B stand, in floats, their innermost stride being 1; null: one
  /// after the other.
  const Pattern* runs = nullptr;
  const TurnedRows* turned = nullptr;  ///< B instead of `moving`, which `runs` are not given for
  LaterRows later{};                   ///< brought towards the processor meanwhile
};

/// Every element of C is computed in the order of ProductKernel. This defines the bytes of
/// nc_matmul, the same on every host, however the columns and elements of C are divided into
/// products. Without accumulation C is not read. C must not overlap A or B.
void multiply_tile(const TileProduct& product, const ProductKernel& kernel = product_kernel());

}  // namespace neuron_sim
