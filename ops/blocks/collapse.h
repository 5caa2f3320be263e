#pragma once
// Fewer, longer dimensions that describe the same elements.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/operand/affine.h"

namespace neuron_sim {

/// A dimension that several tensors share, with the stride (elements) of each.
struct SharedDimension {
  int64_t size;
  std::vector<int64_t> strides;
};

/// Drops dimensions of size 1 and merges neighbours that are adjacent in memory for every tensor
/// (strides of 0 merge too). `strides[t]` belong to tensor t. At least one dimension stays.
std::vector<SharedDimension> collapse(const std::vector<int64_t>& shape,
                                      const std::vector<std::vector<int64_t>>& strides);

/// Sizes, and the strides of tensor `tensor`.
std::vector<int64_t> sizes_of(const std::vector<SharedDimension>& dimensions);
std::vector<int64_t> strides_of(const std::vector<SharedDimension>& dimensions, size_t tensor);
/// Elements of the dimensions from `first` on.
int64_t elements_of(const std::vector<SharedDimension>& dimensions, size_t first = 0);
/// The first of the largest ones among the first `count` dimensions, or among all of them.
size_t largest(const std::vector<SharedDimension>& dimensions, size_t count);
inline size_t largest(const std::vector<SharedDimension>& dimensions) {
  return largest(dimensions, dimensions.size());
}

/// Element offsets of every tensor.
using Starts = std::vector<Affine>;
/// Starts moved by an index of a dimension.
Starts moved(const Starts& starts, const SharedDimension& dimension, const Affine& index);

}  // namespace neuron_sim
