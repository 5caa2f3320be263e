#pragma once
// Bounds of index tensors, and the rows of a table that they name. A NeuronCore has no 64-bit
// integers: the host side of the simulator checks and adds them, in an eager operator before it
// launches anything, in a compiled graph at every run.

#include <ATen/core/Tensor.h>

#include <vector>

namespace neuron_sim {

/// The error of torch's CPU for an index out of bounds, which differs between operators.
enum class OutOfBounds : int64_t {
  kRowOfSelf,      ///< IndexError: index out of range in self
  kDimension,      ///< IndexError: index 5 is out of bounds for dimension 1 with size 3
  kCopiedRow,      ///< IndexError: index_copy_(): index 5 is out of bounds ...
  kTaken,          ///< IndexError: out of range: tried to access index 5 on a tensor of 3 elements.
  kTarget,         ///< IndexError: Target 5 is out of bounds.
  kElement,        ///< RuntimeError: index 5 is out of bounds for dimension 1 with size 3
  kSelectedSlice,  ///< RuntimeError: INDICES element is out of DATA bounds, id=5 axis_dim=3
};

/// The valid indices along one dimension.
struct IndexBounds {
  int64_t size = 0;  ///< of the dimension: indices in [0, size)
  OutOfBounds error = OutOfBounds::kDimension;
  int64_t dimension = 0;  ///< in the error's text
  bool from_end = false;  ///< -1 is the last one: indices in [-size, size)
};

/// Throws the error of `bounds` unless all elements of `indices` (int64 or int32, on a device) are
/// within them. All 64 bits count.
void check_bounds(const at::Tensor& indices, const IndexBounds& bounds);

/// Indices along one dimension, whose step is `stride` rows.
struct IndexedDimension {
  at::Tensor indices;
  IndexBounds bounds;
  int64_t stride = 1;
};

/// int64 rows, of the shape of the indices (all alike, int64 or int32, on a device): at place
/// (p0, p1, ...) the sum of index * stride of every dimension and of p[i] * steps[i]. Errors as
/// check_bounds().
at::Tensor row_numbers(const std::vector<IndexedDimension>& dimensions, at::IntArrayRef steps);

/// Elements in the order of their targets (stable), int64 [N] each. same[i][k], bool: whether the
/// target of k is that of k - 2^i.
struct SegmentOrder {
  at::Tensor sources, targets, same;
  int64_t longest;  ///< elements of a target at most; in a compiled graph all of them
};
SegmentOrder segment_order(const at::Tensor& sources, const at::Tensor& targets);

/// For each of `size` targets (int64) how many elements of `targets` name it.
at::Tensor counts_of(const at::Tensor& targets, int64_t size);

/// For every element of `rows` (int64, [N], on a device) the place of the last equal one.
at::Tensor last_of_equal(const at::Tensor& rows);

}  // namespace neuron_sim
