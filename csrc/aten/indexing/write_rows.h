#pragma once
// In-place writes of indexed elements: nothing else of the tensor moves.

#include <ATen/core/Tensor.h>

#include <vector>

#include "csrc/aten/indexing/index_bounds.h"

namespace neuron_sim {

/// A dimension of a tensor that an index tensor names elements of.
struct NamedDimension {
  int64_t dimension = 0;
  at::Tensor indices;
  IndexBounds bounds;
};

/// self[..., indices, ...] = values, or += with `add`; in order where indices repeat.
/// `values` has the shape of the indices (all alike), then the dimensions of `self` that have no
/// indices. Additions are in addition_dtype(), whose Refusal comes before anything is written,
/// as index errors do; each element is rounded (or wraps) once.
void write_named(const at::Tensor& self, const std::vector<NamedDimension>& named,
                 const at::Tensor& values, bool add);

/// Writes single elements: indices of all dimensions, of the shape of `values`, name elements along
/// one of them and stand at their own places along the others. Rounding and errors are those of
/// write_named().
void write_elements(const at::Tensor& self, const NamedDimension& named, const at::Tensor& values,
                    bool add);

}  // namespace neuron_sim
