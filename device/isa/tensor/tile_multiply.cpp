#include "device/isa/tensor/tile_multiply.h"

#include <algorithm>

#include "device/isa/tensor/line_buffer.h"
#include "device/isa/tensor/product_panels.h"

namespace neuron_sim {
namespace {

/// The rows of moving that are not one run, as one.
TileProduct joined(const TileProduct& product, LineBuffer& buffer) {
  TileProduct whole = product;
  float* data = buffer.floats(product.depth * product.elements);
  const Pattern& runs = *product.runs;
  for (int64_t r = 0; r < runs.runs(); ++r) {
    const float* from = product.moving + runs.offset(r);
    float* to = data + r * runs.length;
    for (int64_t k = 0; k < product.depth; ++k, from += product.moving_pitch) {
      std::copy_n(from, runs.length, to + k * product.elements);
    }
  }
  whole.moving = data;
  whole.moving_pitch = product.elements;
  whole.runs = nullptr;
  return whole;
}

/// The transposed product, whose rows are many times longer than those of `product`.
void multiply_transposed(const TileProduct& product, const ProductKernel& kernel) {
  thread_local LineBuffer joined_moving, transposed_target;
  const TileProduct whole = product.runs == nullptr ? product : joined(product, joined_moving);
  const int64_t rows = product.elements, length = product.columns;
  float* transposed = transposed_target.floats(rows * length);
  for (int64_t i = 0; i < length && product.accumulate; ++i) {
    const float* from = product.target + i * product.target_pitch;
    for (int64_t row = 0; row < rows; ++row) transposed[row * length + i] = from[row];
  }
  multiply_panels({rows, length, product.depth, whole.moving, whole.moving_pitch,
                   product.stationary, product.stationary_pitch, transposed, length,
                   product.accumulate, product.bf16, nullptr, nullptr, product.later},
                  kernel);
  for (int64_t i = 0; i < length; ++i) {
    float* to = product.target + i * product.target_pitch;
    for (int64_t row = 0; row < rows; ++row) to[row] = transposed[row * length + i];
  }
}

}  // namespace

void multiply_tile(const TileProduct& product, const ProductKernel& kernel) {
  const int64_t columns = product.columns, elements = product.elements;
  if (columns == 0 || elements == 0) return;
  const bool narrow =
      elements < columns && elements <= kernel.blocks.rows() && product.turned == nullptr;
  return narrow ? multiply_transposed(product, kernel) : multiply_panels(product, kernel);
}

}  // namespace neuron_sim
