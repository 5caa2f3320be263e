#pragma once
// The order in which a convolution visits its images, panels of columns and bands of rows.

#include "ops/conv2d/tiles.h"

namespace neuron_sim {

/// Loads and computes every band of a set of groups, for the filters of the kernel's pass.
/// `images`: the tiles of allocate_images.
void run_bands(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
               const View& images, Conv2dBandKernel& kernel);

}  // namespace neuron_sim
