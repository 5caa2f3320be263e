#pragma once
// Which tensors of neighbouring kernels are the same elements, and how kernels share them.

#include <optional>
#include <vector>

#include "ops/blocks/collapse.h"
#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Whether the two, of one shape, are the same elements in the same order.
bool same_elements(const GraphTensor& a, const GraphTensor& b);

/// Whether no byte between the first and last element belongs to none, or to two.
bool is_dense(const GraphTensor& tensor);
/// Whether the two, of one shape, have their elements in the same order.
bool same_order(const GraphTensor& a, const GraphTensor& b);

/// The elements of both tensors, of one shape, in merged dimensions from the longest stride of the
/// first one to its shortest.
std::vector<SharedDimension> shared_dimensions(const GraphTensor& first, const GraphTensor& second);

/// Strides of the same elements under other sizes; empty when there are none.
std::optional<std::vector<int64_t>> strides_under(const GraphTensor& tensor,
                                                  const std::vector<int64_t>& shape);

/// `tensor`, elements of `from`, as elements of `to`, which has as many in the same shape. Empty
/// unless each dimension of it goes along one dimension of the two, merged as far as they are
/// adjacent in both. No element of `from` repeats, and its shortest stride is 1.
std::optional<GraphTensor> relocated(GraphTensor tensor, const GraphTensor& from,
                                     const GraphTensor& to);

/// A pointwise kernel of floating-point tensors with other sizes, its emit function as before;
/// empty when a tensor does not have such sizes or holds integers.
std::optional<GraphKernel> under_shape(GraphKernel kernel, const std::vector<int64_t>& shape);

/// Index of the tensor among `tensors`, appended if none is the same.
size_t place_of(std::vector<GraphTensor>& tensors, const GraphTensor& tensor);

}  // namespace neuron_sim
