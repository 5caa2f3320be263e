#pragma once
// The elements that a pointwise kernel goes over, in dimensions that another kernel can share.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ops/blocks/collapse.h"

namespace neuron_sim {

/// Dimensions with the strides of several tensors, without those of size 1.
using IterationSpace = std::vector<SharedDimension>;

/// Both spaces in the same dimensions, in which tensor `first_link` of `first` and tensor
/// `second_link` of `second`, the same tensor, have the same strides: dimensions are ordered
/// by its strides and split where the other space splits. Empty when there are no such dimensions:
/// the two go over other elements of it, or over some of them several times (strides of 0).
std::optional<std::pair<IterationSpace, IterationSpace>> matched(IterationSpace first,
                                                                 size_t first_link,
                                                                 IterationSpace second,
                                                                 size_t second_link);

}  // namespace neuron_sim
