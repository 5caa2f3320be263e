#include "ops/blocks/collapse.h"

namespace neuron_sim {
namespace {

bool adjacent(const SharedDimension& outer, const SharedDimension& inner) {
  for (size_t t = 0; t < outer.strides.size(); ++t) {
    if (outer.strides[t] != inner.strides[t] * inner.size) return false;
  }
  return true;
}

}  // namespace

std::vector<SharedDimension> collapse(const std::vector<int64_t>& shape,
                                      const std::vector<std::vector<int64_t>>& strides) {
  std::vector<SharedDimension> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    SharedDimension dimension{shape[i], {}};
    for (const auto& tensor : strides) dimension.strides.push_back(tensor[i]);
    if (!result.empty() && adjacent(result.back(), dimension)) {
      result.back() = {result.back().size * dimension.size, dimension.strides};
    } else {
      result.push_back(dimension);
    }
  }
  if (result.empty()) result.push_back({1, std::vector<int64_t>(strides.size(), 1)});
  return result;
}

std::vector<int64_t> sizes_of(const std::vector<SharedDimension>& dimensions) {
  std::vector<int64_t> sizes;
  sizes.reserve(dimensions.size());
  for (const SharedDimension& dimension : dimensions) sizes.push_back(dimension.size);
  return sizes;
}

std::vector<int64_t> strides_of(const std::vector<SharedDimension>& dimensions, size_t tensor) {
  std::vector<int64_t> strides;
  strides.reserve(dimensions.size());
  for (const SharedDimension& dimension : dimensions) strides.push_back(dimension.strides[tensor]);
  return strides;
}

int64_t elements_of(const std::vector<SharedDimension>& dimensions, size_t first) {
  int64_t result = 1;
  for (size_t i = first; i < dimensions.size(); ++i) result *= dimensions[i].size;
  return result;
}

size_t largest(const std::vector<SharedDimension>& dimensions, size_t count) {
  size_t found = 0;
  for (size_t i = 1; i < count; ++i) {
    if (dimensions[i].size > dimensions[found].size) found = i;
  }
  return found;
}

Starts moved(const Starts& starts, const SharedDimension& dimension, const Affine& index) {
  Starts result = starts;
  for (size_t t = 0; t < result.size(); ++t) result[t] += index * dimension.strides[t];
  return result;
}

}  // namespace neuron_sim
