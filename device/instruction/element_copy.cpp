#include "device/instruction/element_copy.h"

#include <algorithm>
#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/pattern.h"

namespace neuron_sim {
namespace {

constexpr int64_t kBlock = 16;  // rows and columns that are transposed at a time

/// The dimensions of one side, merged, consumed from the innermost outwards.
struct Cursor {
  std::array<Dimension, kMaximumCopyRank> dimensions{};
  int left = 0;  ///< dimensions not consumed yet; the last of them may be partly consumed

  explicit Cursor(std::span<const Dimension> all) { left = merge_dimensions(all, dimensions); }
  Dimension& inner() { return dimensions[static_cast<size_t>(left - 1)]; }
  void consume(int64_t size) {
    inner().size /= size;
    inner().stride *= size;
    if (inner().size == 1) --left;
  }
};

/// Calls visit(source offset, target offset) for all values of the first `count` axes.
template <typename Visit>
void for_each_offset(const CopyNest& nest, int count, Visit visit) {
  std::array<int64_t, 2 * kMaximumCopyRank> index{};
  int64_t source = 0, target = 0;
  while (true) {
    visit(source, target);
    int i = count - 1;
    for (; i >= 0; --i) {
      const CopyAxis& axis = nest.axis(i);
      source += axis.source_stride;
      target += axis.target_stride;
      if (++index[static_cast<size_t>(i)] < axis.size) break;
      index[static_cast<size_t>(i)] = 0;
      source -= axis.source_stride * axis.size;
      target -= axis.target_stride * axis.size;
    }
    if (i < 0) return;
  }
}

/// Moves axis `index` to position `place`, keeping the order of the others.
void move_axis(CopyNest& nest, int index, int place) {
  const auto at = nest.axes.begin();
  if (index < place) {
    std::rotate(at + index, at + index + 1, at + place + 1);
  } else {
    std::rotate(at + place, at + index, at + index + 1);
  }
}

int find_axis(const CopyNest& nest, auto condition) {
  for (int i = nest.count - 1; i >= 0; --i) {
    if (condition(nest.axis(i))) return i;
  }
  return -1;
}

template <typename Element>
void copy_strided(const std::byte* source, std::byte* target, const CopyAxis& axis) {
  for (int64_t i = 0; i < axis.size; ++i) {
    std::memcpy(target + i * axis.target_stride, source + i * axis.source_stride, sizeof(Element));
  }
}

/// Transposes a block of 16 x 16 elements; strides in bytes.
template <typename Element>
void transpose_block(const std::byte* source, int64_t source_stride, std::byte* target,
                     int64_t target_stride) {
  Element block[kBlock][kBlock];
  for (int64_t i = 0; i < kBlock; ++i) {
    Element line[kBlock];
    std::memcpy(line, source + i * source_stride, sizeof line);
    for (int64_t j = 0; j < kBlock; ++j) block[j][i] = line[j];
  }
  for (int64_t j = 0; j < kBlock; ++j) {
    std::memcpy(target + j * target_stride, block[j], sizeof block[j]);
  }
}

/// Transposes a block in registers of four elements, which every host has.
template <>
void transpose_block<uint32_t>(const std::byte* source, int64_t source_stride, std::byte* target,
                               int64_t target_stride) {
  constexpr int64_t kLanes = 4;
  constexpr int64_t kItem = sizeof(uint32_t);
  using Words [[gnu::vector_size(kLanes * kItem)]] = uint32_t;
  for (int64_t column = 0; column < kBlock; column += kLanes) {
    for (int64_t row = 0; row < kBlock; row += kLanes) {
      const std::byte* from = source + row * source_stride + column * kItem;
      std::byte* to = target + column * target_stride + row * kItem;
      Words in[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        std::memcpy(&in[i], from + i * source_stride, sizeof in[i]);
      }
      const Words low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
      const Words low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
      const Words high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
      const Words high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
      const Words out[kLanes] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                 __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                 __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                 __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
      for (int64_t j = 0; j < kLanes; ++j) {
        std::memcpy(to + j * target_stride, &out[j], sizeof out[j]);
      }
    }
  }
}

/// Transposes: `rows` is contiguous in the target, `columns` in the source. In square blocks, so
/// that every cache line is fully used while it is cached.
template <typename Element>
void copy_transposed(const std::byte* source, std::byte* target, const CopyAxis& columns,
                     const CopyAxis& rows) {
  constexpr int64_t kItem = sizeof(Element);
  for (int64_t row = 0; row < rows.size; row += kBlock) {
    const int64_t height = std::min(kBlock, rows.size - row);
    for (int64_t column = 0; column < columns.size; column += kBlock) {
      const int64_t width = std::min(kBlock, columns.size - column);
      const std::byte* from = source + row * rows.source_stride + column * kItem;
      std::byte* to = target + column * columns.target_stride + row * kItem;
      if (height == kBlock && width == kBlock) {
        transpose_block<Element>(from, rows.source_stride, to, columns.target_stride);
        continue;
      }
      for (int64_t j = 0; j < width; ++j) {
        copy_strided<Element>(from + j * kItem, to + j * columns.target_stride,
                              {height, rows.source_stride, kItem});
      }
    }
  }
}

template <typename Element>
void copy_nest(const std::byte* source, std::byte* target, CopyNest nest) {
  constexpr int64_t kItem = sizeof(Element);
  const auto source_dense = [](const CopyAxis& axis) { return axis.source_stride == kItem; };
  const auto target_dense = [](const CopyAxis& axis) { return axis.target_stride == kItem; };
  const int last = nest.count - 1;
  const int run =
      find_axis(nest, [&](const CopyAxis& a) { return source_dense(a) && target_dense(a); });
  if (run >= 0) {
    move_axis(nest, run, last);
    const size_t bytes = static_cast<size_t>(nest.axis(last).size * kItem);
    return for_each_offset(nest, last, [&](int64_t from, int64_t to) {
      std::memmove(target + to, source + from, bytes);
    });
  }
  const int columns = find_axis(nest, source_dense);
  const int rows = find_axis(nest, target_dense);
  if (columns >= 0 && rows >= 0) {
    move_axis(nest, columns, last);
    move_axis(nest, rows > columns ? rows - 1 : rows, last - 1);
    return for_each_offset(nest, last - 1, [&](int64_t from, int64_t to) {
      copy_transposed<Element>(source + from, target + to, nest.axis(last), nest.axis(last - 1));
    });
  }
  int longest = last;
  for (int i = 0; i < last; ++i) {
    if (nest.axis(i).size > nest.axis(longest).size) longest = i;
  }
  move_axis(nest, longest, last);
  for_each_offset(nest, last, [&](int64_t from, int64_t to) {
    copy_strided<Element>(source + from, target + to, nest.axis(last));
  });
}

int64_t element_count(std::span<const Dimension> dimensions) {
  int64_t count = 1;
  for (const Dimension& dimension : dimensions) count *= dimension.size;
  return count;
}

/// Byte offset of an element in row-major order.
int64_t offset_of(std::span<const Dimension> dimensions, int64_t element) {
  int64_t offset = 0;
  for (size_t i = dimensions.size(); i-- > 0;) {
    offset += element % dimensions[i].size * dimensions[i].stride;
    element /= dimensions[i].size;
  }
  return offset;
}

void copy_one(const std::byte* source, std::byte* target, int itemsize) {
  std::memcpy(target, source, static_cast<size_t>(itemsize));
}

/// Whether the elements follow each other without a gap.
bool is_gapless(std::span<const Dimension> dimensions, int64_t itemsize) {
  int64_t expected = itemsize;
  for (size_t i = dimensions.size(); i-- > 0;) {
    if (dimensions[i].size == 1) continue;
    if (dimensions[i].stride != expected) return false;
    expected *= dimensions[i].size;
  }
  return true;
}

/// Copies sides of equally many gapless rows; false (and nothing copied) for others.
bool copy_rows(const SourceRegion& source, const TargetRegion& target, int64_t count,
               int64_t itemsize) {
  const Dimension &from = source.dimensions.front(), &to = target.dimensions.front();
  if (from.size != to.size || count == from.size) return false;
  if (!is_gapless(source.dimensions.subspan(1), itemsize) ||
      !is_gapless(target.dimensions.subspan(1), itemsize) ||
      count != element_count(target.dimensions)) {
    return false;
  }
  const auto bytes = static_cast<size_t>(count / from.size * itemsize);
  for (int64_t row = 0; row < from.size; ++row) {
    std::memmove(target.data + row * to.stride, source.data + row * from.stride, bytes);
  }
  return true;
}

/// Converts a strided run in pieces that stay in the nearest cache.
void convert_run(const std::byte* source, Dtype source_dtype, std::byte* target, Dtype target_dtype,
                 const CopyAxis& axis) {
  constexpr int64_t kPiece = 1024;
  float values[kPiece];
  for (int64_t i = 0; i < axis.size; i += kPiece) {
    const int64_t count = std::min(kPiece, axis.size - i);
    load_floats(source + i * axis.source_stride, source_dtype, axis.source_stride, values, count);
    store_floats(values, target + i * axis.target_stride, target_dtype, axis.target_stride, count);
  }
}

}  // namespace

std::optional<CopyNest> common_nest(std::span<const Dimension> source,
                                    std::span<const Dimension> target) {
  Cursor from(source), to(target);
  CopyNest nest;
  while (from.left > 0 && to.left > 0) {
    const int64_t size = std::min(from.inner().size, to.inner().size);
    if (from.inner().size % size != 0 || to.inner().size % size != 0) return std::nullopt;
    nest.axis(nest.count++) = {size, from.inner().stride, to.inner().stride};
    from.consume(size);
    to.consume(size);
  }
  require(from.left == 0 && to.left == 0, "both sides of a copy have the same element count");
  std::reverse(nest.axes.begin(), nest.axes.begin() + nest.count);
  return nest;
}

void copy_elements(const SourceRegion& source, const TargetRegion& target, int itemsize) {
  const int64_t count = element_count(source.dimensions);
  if (count == 0) return;
  if (is_gapless(source.dimensions, itemsize) && is_gapless(target.dimensions, itemsize)) {
    require(count == element_count(target.dimensions),
            "both sides of a copy have the same element count");
    std::memmove(target.data, source.data, static_cast<size_t>(count * itemsize));
    return;
  }
  if (copy_rows(source, target, count, itemsize)) return;
  const std::optional<CopyNest> nest = common_nest(source.dimensions, target.dimensions);
  if (!nest) {
    for (int64_t i = 0; i < count; ++i) {
      copy_one(source.data + offset_of(source.dimensions, i),
               target.data + offset_of(target.dimensions, i), itemsize);
    }
    return;
  }
  if (nest->count == 0) return copy_one(source.data, target.data, itemsize);
  switch (itemsize) {
    case 1: return copy_nest<uint8_t>(source.data, target.data, *nest);
    case 2: return copy_nest<uint16_t>(source.data, target.data, *nest);
    default: return copy_nest<uint32_t>(source.data, target.data, *nest);
  }
}

void convert_elements(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
                      Dtype target_dtype) {
  const int64_t count = element_count(source.dimensions);
  if (count == 0) return;
  std::optional<CopyNest> nest = common_nest(source.dimensions, target.dimensions);
  if (!nest || nest->count == 0) {
    for (int64_t i = 0; i < count; ++i) {
      convert_run(source.data + offset_of(source.dimensions, i), source_dtype,
                  target.data + offset_of(target.dimensions, i), target_dtype, {1, 0, 0});
    }
    return;
  }
  const int last = nest->count - 1;
  int longest = last;
  for (int i = 0; i < last; ++i) {
    if (nest->axis(i).size > nest->axis(longest).size) longest = i;
  }
  move_axis(*nest, longest, last);
  for_each_offset(*nest, last, [&](int64_t from, int64_t to) {
    convert_run(source.data + from, source_dtype, target.data + to, target_dtype, nest->axis(last));
  });
}

}  // namespace neuron_sim
