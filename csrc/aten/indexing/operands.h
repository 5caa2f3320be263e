#pragma once
// Shared by operators with index tensors.

#include <ATen/core/Tensor.h>

#include <initializer_list>

namespace neuron_sim {

/// Refusal or KernelError unless the device can move elements of the tensor's dtype.
void check_movable(const at::Tensor& tensor);
/// Refusal unless these are int64 or int32 indices on the device.
void check_indices(const at::Tensor& indices);
/// RuntimeError if `out` repeats elements or shares memory with an operand.
void check_apart(const at::Tensor& out, std::initializer_list<at::Tensor> operands);
/// The dtype in which up to `terms` numbers of `type` are added to one, as DMA does it. Refusal if
/// fp32 cannot hold their exact sum, which integers need.
at::ScalarType addition_dtype(at::ScalarType type, int64_t terms);
/// Sums in the addition_dtype as `type`: integers wrap.
at::Tensor sums_as(const at::Tensor& sums, at::ScalarType type);
/// The tensor as [its dimension first, all others]; a copy where strides need one.
at::Tensor leading(const at::Tensor& tensor, int64_t dimension);

}  // namespace neuron_sim
