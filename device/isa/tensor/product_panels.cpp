#include "device/isa/tensor/product_panels.h"

#include <algorithm>
#include <cstring>

#include "device/isa/tensor/later_rows.h"
#include "device/isa/tensor/line_buffer.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {
namespace {

// A stationary operand that more panels than this read is packed first: its rows are pages apart.
constexpr int64_t kPanelsInPlace = 4;
constexpr int64_t kFloat = sizeof(float), kLineBytes = kLineFloats * kFloat;

struct Buffers {
  LineBuffer left, right, edge, columns, turned;
};
Buffers& buffers() {
  thread_local Buffers mine;
  return mine;
}

struct Matrix {
  const float* data = nullptr;
  int64_t pitch = 0;
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Floats from row to row of a copy: an odd number of cache lines, so that columns spread over the
/// cache.
int64_t spread_pitch(int64_t length) { return (divide_up(length, kLineFloats) | 1) * kLineFloats; }

/// Brings rows of bytes towards the processor, to its L2 cache: those that are pages apart compete
/// for a set of L1.
void bring_near(const void* begin, int64_t pitch, int64_t rows, int64_t bytes) {
  const auto* row = static_cast<const std::byte*>(begin);
  for (int64_t i = 0; i < rows; ++i, row += pitch) {
    for (int64_t byte = 0; byte < bytes; byte += kLineBytes) __builtin_prefetch(row + byte, 0, 2);
  }
}

/// The columns [first, first + columns) of the moving operand.
class Panel {
 public:
  Panel(const TileProduct& product, int64_t first, int64_t width)
      : product_(product), first_(first), columns_(std::min(width, product.elements - first)) {
    if (columns_ > 0 && product.turned == nullptr) {
      start_ = at(first);
      contiguous_ = std::min(columns_, left_in_run(first));
    }
  }

  int64_t first() const { return first_; }
  int64_t columns() const { return columns_; }
  /// Whether they are `width` columns of one run, which a kernel reads as they stand.
  bool in_place(int64_t width) const { return contiguous_ == width; }
  Matrix matrix() const { return {start_, product_.moving_pitch}; }
  /// The columns that are contiguous from the first on.
  int64_t contiguous() const { return contiguous_; }
  LaterRows rows() const { return {start_, product_.moving_pitch, contiguous_, product_.depth}; }

  /// A copy by `copy`, with zeros up to `width`.
  Matrix gathered(int64_t width, void (*copy)(const RowCopy&), const ProductKernel& kernel,
                  LineBuffer& buffer) const {
    float* data = buffer.floats(packed_rows(product_.depth) * width);
    if (product_.turned != nullptr) {
      const bool packs = copy != kernel.copy;
      float* to = packs ? buffers().turned.floats(product_.depth * width) : data;
      transpose(to, width, kernel);
      if (packs) copy({product_.depth, width, to, width, data, width, width});
      return {data, width};
    }
    for (int64_t done = 0; done < columns_;) {
      const int64_t count = std::min(columns_ - done, left_in_run(first_ + done));
      const int64_t padded = done + count == columns_ ? width - done : count;
      copy({product_.depth, count, at(first_ + done), product_.moving_pitch, data + done, width,
            padded});
      done += count;
    }
    return {data, width};
  }

 private:
  /// Columns that are rows in HBM, with zeros up to `width`.
  void transpose(float* to, int64_t width, const ProductKernel& kernel) const {
    const int64_t depth = product_.depth, pitch = product_.turned->pitch;
    const bool in_place = product_.turned->dtype == Dtype::kFloat32;
    for (int64_t done = 0; done < columns_; done += kLineFloats) {
      const int64_t count = std::min(kLineFloats, columns_ - done);
      const std::byte* rows = product_.turned->data + (first_ + done) * pitch;
      const int64_t later = std::min(kLineFloats, product_.elements - first_ - done - count);
      if (!in_place) {
        const float* values = widened(rows, count, later);
        kernel.transpose({count, depth, values, spread_pitch(depth), to + done, width});
      }
      for (int64_t k = 0; k < depth && in_place; k += kLineFloats, rows += kLineBytes) {
        bring_near(rows + kLineFloats * pitch, pitch, later, kLineBytes);
        kernel.transpose({count, std::min(kLineFloats, depth - k),
                          reinterpret_cast<const float*>(rows), pitch / kFloat,
                          to + k * width + done, width});
      }
    }
    for (int64_t k = 0; k < depth && columns_ < width; ++k) {
      std::fill_n(to + k * width + columns_, width - columns_, 0.0F);
    }
  }

  /// Turned rows as fp32; meanwhile `later` of those that follow are brought near.
  const float* widened(const std::byte* from, int64_t count, int64_t later) const {
    const TurnedRows& source = *product_.turned;
    const int64_t depth = product_.depth, pitch = spread_pitch(depth);
    const int64_t item = itemsize(source.dtype);
    float* rows = buffers().columns.floats(kLineFloats * pitch);
    for (int64_t i = 0; i < count; ++i, from += source.pitch) {
      bring_near(from + kLineFloats * source.pitch, 0, i < later ? 1 : 0, depth * item);
      load_floats(from, source.dtype, item, rows + i * pitch, depth);
    }
    return rows;
  }

  const float* at(int64_t element) const {
    return product_.moving +
           (product_.runs == nullptr ? element : product_.runs->element_offset(element));
  }
  int64_t left_in_run(int64_t element) const {
    if (product_.runs == nullptr) return product_.elements - element;
    return product_.runs->length - element % product_.runs->length;
  }

  const TileProduct& product_;
  int64_t first_ = 0, columns_ = 0, contiguous_ = 0;
  const float* start_ = nullptr;
};

/// A block with only `columns` valid columns.
void multiply_edge(const BlockProduct& block, int64_t columns, int64_t width,
                   BlockMultiply multiply) {
  BlockProduct whole = block;
  whole.target = buffers().edge.floats(block.rows * width);
  whole.target_pitch = width;
  for (int64_t row = 0; row < block.rows && block.accumulate; ++row) {
    std::copy_n(block.target + row * block.target_pitch, columns, whole.target + row * width);
  }
  multiply(whole);
  for (int64_t row = 0; row < block.rows; ++row) {
    std::copy_n(whole.target + row * width, columns, block.target + row * block.target_pitch);
  }
}

/// The rows of a product in the blocks of a shape.
class Blocks {
 public:
  Blocks(const TileProduct& product, const BlockShape& shape)
      : rows_(product.columns), count_(divide_up(product.columns, shape.rows())) {}

  int64_t count() const { return count_; }
  int64_t first(int64_t block) const { return rows_ * block / count_; }  // even shares
  int64_t rows(int64_t block) const { return first(block + 1) - first(block); }

 private:
  int64_t rows_, count_;
};

/// The stationary operand: as it stands, or packed block after block.
struct Left {
  Matrix matrix;
  int64_t block_pitch = 0;  ///< floats from block to block; 0: as it stands
};

Left packed_left(const TileProduct& product, const BlockShape& shape,
                 void (*pack)(const RowCopy&)) {
  const Blocks blocks(product, shape);
  const int64_t pitch = packed_rows(product.depth) * shape.rows();
  float* data = buffers().left.floats(blocks.count() * pitch);
  for (int64_t block = 0; block < blocks.count(); ++block) {
    const int64_t rows = blocks.rows(block);
    pack({product.depth, rows, product.stationary + blocks.first(block), product.stationary_pitch,
          data + block * pitch, shape.rows(), rows});
  }
  return {{data, shape.rows()}, pitch};
}

/// All rows of the columns of `panel`. The first block of rows writes to `packed`, unless it is
/// null, from where the others read.
void multiply_panel(const TileProduct& product, const BlockShape& shape, const Left& left,
                    const Matrix& right, const Panel& panel, float* packed, Ahead& later) {
  const Blocks blocks(product, shape);
  const Panel next(product, panel.first() + panel.columns(), panel.columns());
  Ahead ahead(next.rows(), blocks.count());
  BlockProduct part{product.depth,      0,           nullptr, left.matrix.pitch,
                    right.data,         right.pitch, nullptr, product.target_pitch,
                    product.accumulate, packed};
  for (int64_t block = 0; block < blocks.count(); ++block) {
    const int64_t row = blocks.first(block);
    part.rows = blocks.rows(block);
    const bool packs = block == 0 && packed != nullptr;
    const auto& kernels = packs ? shape.packing : shape.multiply;
    const BlockMultiply multiply = kernels[static_cast<size_t>(part.rows - 1)];
    part.left = left.matrix.data + (left.block_pitch > 0 ? block * left.block_pitch : row);
    if (panel.first() == 0 && left.block_pitch == 0) {
      bring_near(part.left + part.rows, left.matrix.pitch * kFloat, product.depth, kLineBytes);
    }
    part.target = product.target + row * product.target_pitch + panel.first();
    ahead.fetch();
    later.fetch();
    if (panel.columns() == shape.columns) {
      multiply(part);
    } else {
      multiply_edge(part, panel.columns(), shape.columns, multiply);
    }
    if (packs) {
      part.right = packed;
      part.right_pitch = shape.columns;
    }
  }
}

void multiply_floats(const TileProduct& product, const ProductKernel& kernel,
                     const BlockShape& shape, const Left& left, const Panel& panel, Ahead& later) {
  const bool in_place = panel.in_place(shape.columns);
  const Matrix right = in_place
                           ? panel.matrix()
                           : panel.gathered(shape.columns, kernel.copy, kernel, buffers().right);
  const bool packs = in_place && product.columns > shape.rows() && !shape.packing.empty();
  float* packed = packs ? buffers().right.floats(product.depth * shape.columns) : nullptr;
  multiply_panel(product, shape, left, right, panel, packed, later);
}

/// Over all blocks of a product.
Ahead later_rows_of(const TileProduct& product, const BlockShape& shape) {
  return {product.later,
          divide_up(product.elements, shape.columns) * Blocks(product, shape).count()};
}

void multiply_bf16_blocks(const TileProduct& product, const ProductKernel& any) {
  const Bf16Product& kernel = *any.bf16;
  if (product.turned != nullptr && kernel.turned != nullptr) {
    float* pairs =
        buffers().left.floats(packed_rows(product.depth) * (product.columns + kLineFloats));
    if (kernel.turned(product, pairs)) return;
  }
  const BlockShape& shape = product.columns <= kernel.flat.rows() ? kernel.flat : kernel.blocks;
  const Left left = packed_left(product, shape, kernel.left);
  Ahead later = later_rows_of(product, shape);
  for (int64_t first = 0; first < product.elements; first += shape.columns) {
    const Panel panel(product, first, shape.columns);
    const Matrix right = panel.gathered(shape.columns, kernel.right, any, buffers().right);
    multiply_panel(product, shape, left, right, panel, nullptr, later);
  }
}

void multiply_bf16(const TileProduct& product, const ProductKernel& kernel) {
  if (kernel.bf16->begin != nullptr) kernel.bf16->begin();
  multiply_bf16_blocks(product, kernel);
  if (kernel.bf16->end != nullptr) kernel.bf16->end();
}

}  // namespace

void multiply_panels(const TileProduct& product, const ProductKernel& kernel) {
  if (product.bf16) return multiply_bf16(product, kernel);
  const BlockShape& shape = product.columns <= kernel.flat.rows() ? kernel.flat : kernel.blocks;
  const bool packs =
      product.elements > kPanelsInPlace * shape.columns && product.columns > shape.rows();
  const Left left = packs ? packed_left(product, shape, kernel.copy)
                          : Left{{product.stationary, product.stationary_pitch}};
  Ahead later = later_rows_of(product, shape);
  for (int64_t first = 0; first < product.elements; first += shape.columns) {
    const bool is_narrow =
        &shape == &kernel.blocks && product.elements - first <= kernel.narrow.columns;
    multiply_floats(product, kernel, is_narrow ? kernel.narrow : shape, left,
                    {product, first, shape.columns}, later);
  }
}

}  // namespace neuron_sim
