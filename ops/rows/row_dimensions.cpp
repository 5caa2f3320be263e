#include "ops/rows/row_dimensions.h"

#include <algorithm>

#include "ops/reduction/reduction_dimensions.h"

namespace neuron_sim {
namespace {

/// `size` of every `step`th index of a dimension.
SharedDimension part_of(SharedDimension dimension, int64_t size, int64_t step) {
  dimension.size = size;
  for (int64_t& stride : dimension.strides) stride *= step;
  return dimension;
}

}  // namespace

RowDimensions RowDimensions::of(const RowProgram& program, std::span<const HbmTensor> tensors) {
  RowDimensions found;
  for (const bool reduced : {false, true}) {
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> strides(tensors.size());
    for (size_t i = 0; i < program.reduced.size(); ++i) {
      if (program.reduced[i] != reduced) continue;
      sizes.push_back(tensors.front().shape[i]);
      for (size_t t = 0; t < tensors.size(); ++t) {
        strides[t].push_back(tensors[t].shape[i] == 1 ? 0 : tensors[t].strides[i]);
      }
    }
    (reduced ? found.columns : found.rows) = collapse(sizes, strides);
  }
  return found;
}

int64_t RowDimensions::column_elements() const {
  int64_t product = 1;
  for (const SharedDimension& dimension : columns) product *= dimension.size;
  return product;
}

std::vector<int64_t> RowRun::tile_sizes(const RowDimensions& dimensions, int64_t count) const {
  std::vector<int64_t> sizes{count, group.size};
  for (const SharedDimension& column : dimensions.columns) sizes.push_back(column.size);
  return sizes;
}

std::vector<int64_t> RowRun::tile_steps(const RowDimensions& dimensions, size_t tensor) const {
  std::vector<int64_t> steps{row.strides[tensor], group.strides[tensor]};
  for (const SharedDimension& column : dimensions.columns) steps.push_back(column.strides[tensor]);
  return steps;
}

RowGroups::RowGroups(const RowDimensions& dimensions, int64_t partitions, int64_t most)
    : row_(largest(dimensions.rows)), abreast_(row_), partitions_(partitions) {
  const std::vector<SharedDimension>& rows = dimensions.rows;
  size_ = std::clamp<int64_t>(rows[row_].size / partitions, 1, most);
  if (rows.size() < 2 || rows[row_].size < partitions) return;
  const size_t other = rows.size() - (row_ + 1 == rows.size() ? 2 : 1);
  int64_t abreast = most;
  while (rows[other].size % abreast != 0) --abreast;
  const bool is_long = abreast * dimensions.column_elements() >= kLongRow;
  if (abreast == 1 || (abreast < size_ && !is_long)) return;
  abreast_ = other;
  size_ = abreast;
}

void RowGroups::for_each_run(Builder& builder, const RowDimensions& dimensions,
                             const Starts& starts, const Body& body) const {
  const SharedDimension &rows = dimensions.rows[row_], &others = dimensions.rows[abreast_];
  loop_over(builder, dimensions.rows, {row_, abreast_}, starts, [&](const Starts& outer) {
    if (are_abreast()) {
      return builder.loop(others.size / size_, [&](const Affine& block) {
        body(moved(outer, others, block * size_), {rows, part_of(others, size_, 1)});
      });
    }
    const int64_t tile = partitions_ * size_;
    const int64_t grouped = size_ == 1 ? 0 : rows.size / tile * tile, rest = rows.size - grouped;
    if (grouped > 0) {
      body(outer, {part_of(rows, grouped / size_, size_), part_of(rows, size_, 1)});
    }
    if (rest > 0) {
      body(moved(outer, rows, grouped), {part_of(rows, rest, 1), part_of(rows, 1, 1)});
    }
  });
}

}  // namespace neuron_sim
