#pragma once
// Products in blocks of a host's product kernel.

#include "device/isa/tensor/product_kernel.h"
#include "device/isa/tensor/tile_multiply.h"

namespace neuron_sim {

/// multiply_tile() panel by panel: as many columns of `moving` as a block of the kernel has, which
/// stay in the processor's L1 cache while all rows of the product use them.
void multiply_panels(const TileProduct& product, const ProductKernel& kernel);

}  // namespace neuron_sim
