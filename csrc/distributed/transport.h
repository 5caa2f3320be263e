#pragma once
// Moves the bytes of a collective between processes. Tensors are host tensors: the backing of
// device tensors (csrc/launch/tensor_access.h).

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <string>
#include <vector>

namespace neuron_sim {

using Tensors = std::vector<at::Tensor>;

/// The name of a reduction, "SUM"; "UNKNOWN" when it has none.
std::string reduction_name(const c10d::ReduceOp& operation);

/// c10::NotImplementedError for unknown reductions; c10::TypeError when the reduction is not
/// defined for that dtype: float8 has none, the bitwise ones take integers and bool, AVG and
/// PREMUL_SUM (torch.distributed._make_nccl_premul_sum) take floats.
void check_reduction(const c10d::ReduceOp& operation, at::ScalarType dtype);

/// Waits for `work`.
void finish(const c10::intrusive_ptr<c10d::Work>& work);

/// The elements of `tensor` as a flat row of bytes; a copy when it is not contiguous.
at::Tensor bytes_of(const at::Tensor& tensor);

/// `tensor` of rank `root` on every rank.
void broadcast(c10d::Backend& transport, const at::Tensor& tensor, int64_t root);
/// A new tensor, the reduction of `tensor` of all ranks, computed in its dtype (int16: in int32).
at::Tensor reduced(c10d::Backend& transport, const at::Tensor& tensor,
                   const c10d::ReduceOp& operation);
/// inputs[i] goes to rank i, outputs[i] comes from it; both may be empty tensors.
void exchange(c10d::Backend& transport, const Tensors& inputs, const Tensors& outputs);

}  // namespace neuron_sim
