#include "device/isa/tensor/tile_multiply.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace neuron_sim {
namespace {

constexpr int64_t kLine = 16;  // floats of a cache line
// An operand that is read more often than this is copied first: its rows are pages apart, more
// pages than the processor's first-level TLB holds.
constexpr int64_t kReadsInPlace = 2;
// Floats of `moving` that are copied at a time: as many as the processor's L1 cache holds.
constexpr int64_t kGroup = 8192;

/// Memory of the calling thread, aligned to cache lines; grown, never shrunk.
class Buffer {
 public:
  float* floats(int64_t count) {
    const size_t needed = static_cast<size_t>(count + kLine);
    if (storage_.size() < needed) storage_.resize(needed);
    void* data = storage_.data();
    size_t room = storage_.size() * sizeof(float);
    return static_cast<float*>(std::align(kLine * sizeof(float), sizeof(float), data, room));
  }

 private:
  std::vector<float> storage_;
};

struct Buffers {
  Buffer left, right, edge, transposed, pairs;
};
Buffers& buffers() {
  thread_local Buffers mine;
  return mine;
}

struct Matrix {
  const float* data = nullptr;
  int64_t pitch = 0;
};

/// Floats from row to row of a copy: an odd number of cache lines, so that columns spread over the
/// cache.
int64_t spread_pitch(int64_t length) { return ((length + kLine - 1) / kLine | 1) * kLine; }

/// A copy of `length` columns, and zeros up to `padded`.
Matrix copied(const Matrix& from, int64_t rows, int64_t length, int64_t padded, Buffer& buffer) {
  const int64_t pitch = spread_pitch(padded);
  float* data = buffer.floats(rows * pitch);
  for (int64_t row = 0; row < rows; ++row) {
    float* to = data + row * pitch;
    std::memcpy(to, from.data + row * from.pitch, static_cast<size_t>(length) * sizeof(float));
    std::fill(to + length, to + padded, 0.0F);
  }
  return {data, pitch};
}

/// A block with only `columns` valid columns.
void multiply_edge(const BlockProduct& block, int64_t rows, int64_t columns,
                   const BlockShape& shape) {
  BlockProduct whole = block;
  whole.target = buffers().edge.floats(rows * shape.columns);
  whole.target_pitch = shape.columns;
  for (int64_t row = 0; row < rows && block.accumulate; ++row) {
    std::copy_n(block.target + row * block.target_pitch, columns,
                whole.target + row * shape.columns);
  }
  shape.multiply[static_cast<size_t>(rows - 1)](whole);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(whole.target + row * shape.columns, columns,
                block.target + row * block.target_pitch);
  }
}

/// Rows of a matrix that are brought towards the processor while it computes.
class Ahead {
 public:
  Ahead() = default;
  /// `length` columns of `rows` rows, over about `calls` calls of fetch().
  Ahead(const Matrix& from, int64_t rows, int64_t length, int64_t calls)
      : row_(from.data),
        pitch_(from.pitch),
        length_(length),
        left_(rows),
        share_((rows + calls - 1) / std::max<int64_t>(calls, 1)) {}

  void fetch() {
    const int64_t rows = std::min(share_, left_);
    for (int64_t i = 0; i < rows; ++i, row_ += pitch_) {
      for (int64_t line = 0; line < length_; line += kLine) __builtin_prefetch(row_ + line, 0, 2);
    }
    left_ -= rows;
  }

 private:
  const float* row_ = nullptr;
  int64_t pitch_ = 0, length_ = 0, left_ = 0, share_ = 0;
};

/// `columns` columns of the product from `first` on, with those of `right`.
void multiply_columns(const TileProduct& product, const BlockShape& shape, const Matrix& left,
                      const Matrix& right, int64_t first, int64_t columns, Ahead ahead) {
  const int64_t blocks = (product.columns + shape.rows() - 1) / shape.rows();
  BlockProduct part{product.depth, nullptr, left.pitch,           nullptr,
                    right.pitch,   nullptr, product.target_pitch, product.accumulate};
  for (int64_t block = 0, row = 0; block < blocks; ++block) {
    const int64_t rows = product.columns * (block + 1) / blocks - row;  // even shares
    const BlockMultiply multiply = shape.multiply[static_cast<size_t>(rows - 1)];
    part.left = left.data + row;
    part.right = right.data;
    part.target = product.target + row * product.target_pitch + first;
    int64_t rest = columns;
    for (; rest >= shape.columns; rest -= shape.columns) {
      ahead.fetch();
      multiply(part);
      part.right += shape.columns;
      part.target += shape.columns;
    }
    if (rest > 0) multiply_edge(part, rows, rest, shape);
    row += rows;
  }
}

void multiply_rows(const TileProduct& product, const ProductKernel& kernel) {
  const BlockShape& shape = product.columns <= kernel.flat.rows() ? kernel.flat : kernel.blocks;
  const int64_t width = shape.columns;
  Matrix left{product.stationary, product.stationary_pitch};
  if (product.elements > kReadsInPlace * width) {
    left = copied(left, product.depth, product.columns, product.columns, buffers().left);
  }
  const bool in_place = product.columns <= kReadsInPlace * shape.rows();
  const int64_t panels = kGroup / (std::max<int64_t>(product.depth, 1) * width);
  const int64_t group = std::max<int64_t>(panels, 1) * width;
  for (int64_t first = 0; first < product.elements; first += group) {
    const int64_t columns = std::min(group, product.elements - first);
    const int64_t padded = (columns + width - 1) / width * width;
    Matrix right{product.moving + first, product.moving_pitch};
    if (!in_place || padded > columns) {
      right = copied(right, product.depth, columns, padded, buffers().right);
    }
    Ahead ahead;
    const int64_t next = std::min(group, product.elements - first - columns);
    if (!in_place && next > 0) {
      const int64_t calls = (product.columns + shape.rows() - 1) / shape.rows() * (columns / width);
      ahead = {
          {product.moving + first + columns, product.moving_pitch}, product.depth, next, calls};
    }
    multiply_columns(product, shape, left, right, first, columns, ahead);
  }
}

/// `rows` rows of values of bf16, two and two in one.
struct PairedMatrix {
  Matrix matrix;
  uint32_t least = 0;  ///< bits of the least magnitude other than zero, else 0
};

PairedMatrix paired(const Matrix& from, int64_t rows, int64_t length, const PairedProduct& kernel,
                    Buffer& buffer) {
  const int64_t width = kernel.blocks.columns;
  const int64_t padded = (length + width - 1) / width * width;
  const int64_t pitch = spread_pitch(padded);
  float* data = buffer.floats((rows + 1) / 2 * pitch);
  const uint32_t least = kernel.pack({rows, length, from.data, from.pitch, data, pitch, padded});
  return {{data, pitch}, least};
}

/// Whether no sum of products of such values is below the normal numbers but zero: a value of bf16
/// is a multiple of its power of two over 2^7, so all sums are multiples of the two least powers of
/// two over 2^14, also when they are rounded.
bool sums_are_normal(const PairedMatrix& left, const PairedMatrix& right) {
  if (left.least == 0 || right.least == 0) return true;  // zeros alone
  constexpr uint32_t kBias = 127, kFraction = 23, kBothUnits = 14;
  const uint32_t a = left.least >> kFraction, b = right.least >> kFraction;
  return a > 0 && b > 0 && a + b >= kBias + 1 + kBothUnits;
}

/// The product of values of bf16, in pairs wherever that gives the same bytes.
void multiply_pairs(const TileProduct& product, const ProductKernel& kernel) {
  const BlockShape& shape = kernel.paired.blocks;
  const PairedMatrix left = paired({product.stationary, product.stationary_pitch}, product.depth,
                                   product.columns, kernel.paired, buffers().pairs);
  TileProduct pairs = product;
  pairs.depth = (product.depth + 1) / 2;
  const int64_t panels = kGroup / (std::max<int64_t>(pairs.depth, 1) * shape.columns);
  const int64_t group = std::max<int64_t>(panels, 1) * shape.columns;
  for (int64_t first = 0; first < product.elements; first += group) {
    const int64_t columns = std::min(group, product.elements - first);
    const PairedMatrix right = paired({product.moving + first, product.moving_pitch}, product.depth,
                                      columns, kernel.paired, buffers().right);
    if (sums_are_normal(left, right)) {
      multiply_columns(pairs, shape, left.matrix, right.matrix, first, columns, {});
      continue;
    }
    TileProduct part = product;
    part.elements = columns;
    part.moving += first;
    part.target += first;
    multiply_rows(part, kernel);
  }
}

/// The transposed product, whose rows are many times longer than those of `product`.
void multiply_transposed(const TileProduct& product, const ProductKernel& kernel) {
  const int64_t rows = product.elements, length = product.columns;
  float* transposed = buffers().transposed.floats(rows * length);
  for (int64_t i = 0; i < length && product.accumulate; ++i) {
    const float* from = product.target + i * product.target_pitch;
    for (int64_t row = 0; row < rows; ++row) transposed[row * length + i] = from[row];
  }
  multiply_rows({rows, length, product.depth, product.moving, product.moving_pitch,
                 product.stationary, product.stationary_pitch, transposed, length,
                 product.accumulate},
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
  const bool narrow = elements < columns && elements <= kernel.blocks.rows();
  if (narrow) return multiply_transposed(product, kernel);
  const bool pairs = product.bf16 && columns > kReadsInPlace * kernel.paired.blocks.rows();
  return pairs && kernel.paired.pack != nullptr ? multiply_pairs(product, kernel)
                                                : multiply_rows(product, kernel);
}

}  // namespace neuron_sim
