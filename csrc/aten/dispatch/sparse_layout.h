#pragma once
// A sparse tensor is a few dense ones, of indices and of values.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace neuron_sim {

/// Makes the dense tensor that takes the place of one of a sparse tensor's.
using ReplaceComponent = c10::function_ref<at::Tensor(const at::Tensor&)>;

/// COO or one of the compressed layouts.
inline bool is_sparse_layout(const at::Tensor& tensor) {
  switch (tensor.layout()) {
    case at::kSparse:
    case at::kSparseCsr:
    case at::kSparseCsc:
    case at::kSparseBsr:
    case at::kSparseBsc: return true;
    default: return false;
  }
}

/// A tensor on `device` that is as `like`, but consists of replaced components.
at::Tensor sparse_over(const at::Tensor& like, at::Device device, ReplaceComponent replaced);
/// Makes `target` what `like`, of its layout, is, with replaced components.
void set_sparse(const at::Tensor& target, const at::Tensor& like, ReplaceComponent replaced);

}  // namespace neuron_sim
