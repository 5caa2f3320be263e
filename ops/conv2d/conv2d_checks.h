#pragma once
// The arguments of the convolution kernel: checks, and the sizes that follow from them.

#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/conv2d_plan.h"

namespace neuron_sim {

/// KernelError (kValue) for an option out of its range.
void check_conv2d_options(const Conv2dMaxpoolOptions& options);

/// The sizes of a convolution of these tensors. KernelError as kConv2dMaxpool raises it.
Conv2dShape check_conv2d(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias,
                         const Conv2dMaxpoolOptions& options);

}  // namespace neuron_sim
