#pragma once
// Which tensors of neighbouring kernels are the same elements, and how kernels share them.

#include <optional>
#include <vector>

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Whether the two, of one shape, are the same elements in the same order.
bool same_elements(const GraphTensor& a, const GraphTensor& b);

/// Whether no byte between the first and last element belongs to none, or to two.
bool is_dense(const GraphTensor& tensor);
/// Whether the two, of one shape, have their elements in the same order.
bool same_order(const GraphTensor& a, const GraphTensor& b);

/// Strides of the same elements under other sizes; empty when there are none.
std::optional<std::vector<int64_t>> strides_under(const GraphTensor& tensor,
                                                  const std::vector<int64_t>& shape);

/// A pointwise kernel of floating-point tensors with other sizes, its emit function as before;
/// empty when a tensor does not have such sizes or holds integers.
std::optional<GraphKernel> under_shape(GraphKernel kernel, const std::vector<int64_t>& shape);

/// Index of the tensor among `tensors`, appended if none is the same.
size_t place_of(std::vector<GraphTensor>& tensors, const GraphTensor& tensor);

}  // namespace neuron_sim
