#include "ops/rows/collapsed_rows.h"

#include "ops/blocks/collapse.h"

namespace neuron_sim {

std::vector<View> collapsed_rows(HbmTensors tensors) {
  const std::vector<int64_t>& shape = tensors.front().shape;
  std::vector<std::vector<int64_t>> leading;
  for (const HbmTensor& tensor : tensors) {
    leading.emplace_back(tensor.strides.begin(), tensor.strides.end() - 1);
  }
  const auto dimensions = collapse({shape.begin(), shape.end() - 1}, leading);
  std::vector<int64_t> sizes = sizes_of(dimensions);
  sizes.push_back(shape.back());
  std::vector<View> views;
  for (const HbmTensor& tensor : tensors) {
    std::vector<int64_t> strides = strides_of(dimensions, views.size());
    strides.push_back(tensor.strides.back());
    views.push_back(tensor.view(sizes, strides));
  }
  return views;
}

}  // namespace neuron_sim
