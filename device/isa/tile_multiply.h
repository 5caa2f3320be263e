#pragma once
// The one place where oneDNN multiplies a tile.

#include <cstdint>

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
};

/// One dnnl_sgemm('T', 'N'): this defines the value of nc_matmul (design.md 3.4). Without
/// accumulation C is not read. The caller's thread must have called omp_set_num_threads(1).
void multiply_tile(const TileProduct& product);

}  // namespace neuron_sim
