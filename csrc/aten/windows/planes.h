#pragma once
// Operators on planes: the last two dimensions of images [N, C, H, W] or [C, H, W].

#include <ATen/core/Tensor.h>

#include "ops/pooling/max_pool.h"
#include "ops/pooling/resample.h"

namespace neuron_sim {

/// [C, H, W] as [1, C, H, W]; four dimensions stay. Refusal (csrc/aten/dispatch/device_operator.h)
/// for dtypes other than fp32, fp16 and bf16.
at::Tensor planes_of(const at::Tensor& tensor);
/// The entry of a list of window sizes for axis 0 (rows) or 1 (columns): one entry stands for both
/// axes, an empty list for `otherwise`.
int64_t of_axis(at::IntArrayRef list, size_t axis, int64_t otherwise);

/// output = the map of rows and columns of input, both [N, C, H, W].
void launch_resample(const at::Tensor& input, const at::Tensor& output,
                     const ResampleOptions& options);
/// Resizes an out= tensor, which must have `sizes`.
void resize_planes(const at::Tensor& out, at::IntArrayRef sizes);

}  // namespace neuron_sim
