#pragma once
// Reductions of device tensors, for the operators built from them.

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/reduction/reduction.h"

namespace neuron_sim {

/// Writes the reduction of `operands` (of one shape) into `out`, which keeps the reduced
/// dimensions with size 1 or lacks them. Refusal for dtypes the chip does not compute in.
at::Tensor& reduce_into(at::Tensor& out, const std::vector<at::Tensor>& operands,
                        const ReductionOptions& options);
at::Tensor& reduce_into(at::Tensor& out, const at::Tensor& self, const ReductionOptions& options);

/// Refusal unless maxima and minima of the tensor are exact on the device.
void check_extremum(const at::Tensor& self);

}  // namespace neuron_sim
