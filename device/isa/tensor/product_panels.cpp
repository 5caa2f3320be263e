#include "device/isa/tensor/product_panels.h"

#include <algorithm>
#include <cstring>

#include "device/isa/tensor/later_rows.h"
#include "device/isa/tensor/line_buffer.h"

namespace neuron_sim {
namespace {

// A stationary operand that more panels than this read is copied first: its rows are pages apart.
constexpr int64_t kPanelsInPlace = 2000;
// Operands of more blocks of rows than this are multiplied in pairs, if they can be.
constexpr int64_t kBlocksUnpaired = 2;

struct Buffers {
  LineBuffer right, edge, left_pairs, right_pairs;
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

/// Brings `rows` rows of one cache line towards the processor.
void bring_near(const Matrix& lines, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    __builtin_prefetch(lines.data + row * lines.pitch, 0, 2);
  }
}

/// The columns [first, first + columns) of the moving operand.
class Panel {
 public:
  Panel(const TileProduct& product, int64_t first, int64_t width)
      : product_(product), first_(first), columns_(std::min(width, product.elements - first)) {
    if (columns_ > 0) {
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

  /// A copy, with zeros up to `width`.
  Matrix gathered(int64_t width, const ProductKernel& kernel, LineBuffer& buffer) const {
    float* data = buffer.floats(product_.depth * width);
    for (int64_t done = 0; done < columns_;) {
      const int64_t count = std::min(columns_ - done, left_in_run(first_ + done));
      const int64_t padded = done + count == columns_ ? width - done : count;
      kernel.copy({product_.depth, count, at(first_ + done), product_.moving_pitch, data + done,
                   width, padded});
      done += count;
    }
    return {data, width};
  }

 private:
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
void multiply_edge(const BlockProduct& block, int64_t rows, int64_t columns, int64_t width,
                   BlockMultiply multiply) {
  BlockProduct whole = block;
  whole.target = buffers().edge.floats(rows * width);
  whole.target_pitch = width;
  for (int64_t row = 0; row < rows && block.accumulate; ++row) {
    std::copy_n(block.target + row * block.target_pitch, columns, whole.target + row * width);
  }
  multiply(whole);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(whole.target + row * width, columns, block.target + row * block.target_pitch);
  }
}

/// All rows of the columns of `panel`; `depth` rows of left and right. The first block of rows
/// writes to `packed`, unless it is null, from where the others read.
void multiply_panel(const TileProduct& product, const BlockShape& shape, int64_t depth,
                    const Matrix& left, const Matrix& right, const Panel& panel, float* packed,
                    Ahead& later) {
  const int64_t blocks = divide_up(product.columns, shape.rows());
  const Panel next(product, panel.first() + panel.columns(), panel.columns());
  Ahead ahead(next.rows(), blocks);
  BlockProduct part{depth,       nullptr, left.pitch,           right.data,
                    right.pitch, nullptr, product.target_pitch, product.accumulate,
                    packed};
  for (int64_t block = 0, row = 0; block < blocks; ++block) {
    const int64_t rows = product.columns * (block + 1) / blocks - row;  // even shares
    const bool packs = block == 0 && packed != nullptr;
    const auto& kernels = packs ? shape.packing : shape.multiply;
    const BlockMultiply multiply = kernels[static_cast<size_t>(rows - 1)];
    part.left = left.data + row;
    if (panel.first() == 0) bring_near({part.left + rows, left.pitch}, depth);
    part.target = product.target + row * product.target_pitch + panel.first();
    ahead.fetch();
    later.fetch();
    if (panel.columns() == shape.columns) {
      multiply(part);
    } else {
      multiply_edge(part, rows, panel.columns(), shape.columns, multiply);
    }
    if (packs) {
      part.right = packed;
      part.right_pitch = shape.columns;
    }
    row += rows;
  }
}

void multiply_floats(const TileProduct& product, const ProductKernel& kernel,
                     const BlockShape& shape, const Matrix& left, const Panel& panel,
                     Ahead& later) {
  const bool in_place = panel.in_place(shape.columns);
  const Matrix right =
      in_place ? panel.matrix() : panel.gathered(shape.columns, kernel, buffers().right);
  const bool packs = in_place && product.columns > shape.rows() && !shape.packing.empty();
  float* packed = packs ? buffers().right.floats(product.depth * shape.columns) : nullptr;
  multiply_panel(product, shape, product.depth, left, right, panel, packed, later);
}

/// Rows of values of bf16, two and two in one.
struct PairedMatrix {
  Matrix matrix;
  uint32_t least = 0;  ///< bits of the least magnitude other than zero, else 0
};

PairedMatrix paired(const Matrix& from, int64_t rows, int64_t length, const PairedProduct& kernel,
                    LineBuffer& buffer) {
  const int64_t padded = divide_up(length, kernel.blocks.columns) * kernel.blocks.columns;
  const int64_t pitch = spread_pitch(padded);
  float* data = buffer.floats(divide_up(rows, 2) * pitch);
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

/// Over all blocks of a product.
Ahead later_rows_of(const TileProduct& product, const BlockShape& shape) {
  return {product.later,
          divide_up(product.elements, shape.columns) * divide_up(product.columns, shape.rows())};
}

/// The product of values of bf16, in pairs wherever that gives the same bytes.
void multiply_pairs(const TileProduct& product, const ProductKernel& kernel) {
  const BlockShape& shape = kernel.paired.blocks;
  const Matrix unpaired{product.stationary, product.stationary_pitch};
  const PairedMatrix left =
      paired(unpaired, product.depth, product.columns, kernel.paired, buffers().left_pairs);
  Ahead later = later_rows_of(product, shape);
  for (int64_t first = 0; first < product.elements; first += shape.columns) {
    const Panel panel(product, first, shape.columns);
    const bool in_place = panel.contiguous() == panel.columns();
    const Matrix from =
        in_place ? panel.matrix() : panel.gathered(shape.columns, kernel, buffers().right);
    const PairedMatrix right =
        paired(from, product.depth, panel.columns(), kernel.paired, buffers().right_pairs);
    if (sums_are_normal(left, right)) {
      multiply_panel(product, shape, divide_up(product.depth, 2), left.matrix, right.matrix, panel,
                     nullptr, later);
    } else {
      multiply_floats(product, kernel, kernel.blocks, unpaired, panel, later);
    }
  }
}

}  // namespace

void multiply_panels(const TileProduct& product, const ProductKernel& kernel) {
  const bool pairs = product.bf16 && kernel.paired.pack != nullptr &&
                     product.columns > kBlocksUnpaired * kernel.paired.blocks.rows();
  if (pairs) return multiply_pairs(product, kernel);
  const BlockShape& shape = product.columns <= kernel.flat.rows() ? kernel.flat : kernel.blocks;
  const Matrix left{product.stationary, product.stationary_pitch};
  Ahead later = later_rows_of(product, shape);
  for (int64_t first = 0; first < product.elements; first += shape.columns) {
    const bool is_narrow =
        &shape == &kernel.blocks && product.elements - first <= kernel.narrow.columns;
    multiply_floats(product, kernel, is_narrow ? kernel.narrow : shape, left,
                    {product, first, shape.columns}, later);
  }
}

}  // namespace neuron_sim
