#pragma once
// Values that run along a dimension, for the operators that are made of them.

#include <ATen/core/Tensor.h>

#include "device/numerics/operators.h"

namespace neuron_sim {

/// Launches kRunning (ops/rows/running.h) along a dimension; operands and result of one shape.
void launch_running(AluOp op, at::ArrayRef<at::Tensor> operands, int64_t dimension,
                    const at::Tensor& result);

/// result[..., i] = op of self[..., 0] to self[..., i] along a dimension, in the dtype of `self`,
/// which has elements. `op` is kMaximum or kMinimum; NaN wins. Refusal for dtypes that the device
/// does not compare exactly.
at::Tensor running_extremum(AluOp op, const at::Tensor& self, int64_t dimension);

/// 0, 1, ... as float32 along a dimension, with size 1 in all others. Refusal where fp32 does not
/// count so far.
at::Tensor places_along(const at::Tensor& self, int64_t dimension);

}  // namespace neuron_sim
