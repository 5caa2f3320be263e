#pragma once
// Other shapes of a view: its dimensions split, merged, repeated or in another order. No element
// moves. What a view does not have is a KernelError that names it as kTensorName.

#include <span>

#include "device/tracing/tensor_view.h"

namespace neuron_sim::tracing {

/// Number of elements of a shape; saturates at 64 bits.
int64_t element_count(std::span<const int64_t> sizes);

/// The elements of a view in their order, in other dimensions, of which one may be -1: what is left
/// for it. On chip the partition dimension keeps its size, after as many blocks.
TensorView reshaped(const TensorView& view, Sizes sizes);

/// Dimensions of size 1 repeated to a shape, with step 0. More dimensions come before the others;
/// on chip, after the partition dimension.
TensorView broadcast_to(const TensorView& view, const Sizes& sizes);

/// A dimension of size 1 before each of `axes`, one after the other; negative ones count from the
/// end of the result. On chip they come after the partition dimension.
TensorView with_new_axes(const TensorView& view, std::span<const int64_t> axes);

/// Without dimension `d`, which has size 1 and does not count partitions.
TensorView without_axis(const TensorView& view, size_t d);

/// Dimension i is order[i] of the view. `fixed`: a dimension that stays in its place, or -1.
TensorView permuted(const TensorView& view, std::span<const int64_t> order, int fixed);

/// The bytes of elements of `old_bytes` as elements of `new_bytes`; the last dimension scales.
/// LoopsNeeded when it depends on loops whether the first byte begins an element.
TensorView reinterpreted(const TensorView& view, int64_t old_bytes, int64_t new_bytes);

/// Whether the free dimensions (in HBM all dimensions) are dense in row-major order.
bool is_contiguous(const TensorView& view);

}  // namespace neuron_sim::tracing
