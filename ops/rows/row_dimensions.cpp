#include "ops/rows/row_dimensions.h"

namespace neuron_sim {

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

std::vector<int64_t> RowDimensions::tile_sizes(int64_t count, int64_t group) const {
  std::vector<int64_t> sizes{count / group, group};
  for (const SharedDimension& column : columns) sizes.push_back(column.size);
  return sizes;
}

std::vector<int64_t> RowDimensions::tile_steps(size_t row, size_t tensor, int64_t group) const {
  const int64_t step = rows[row].strides[tensor];
  std::vector<int64_t> steps{step * group, step};
  for (const SharedDimension& column : columns) steps.push_back(column.strides[tensor]);
  return steps;
}

}  // namespace neuron_sim
