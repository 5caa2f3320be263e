#pragma once
// How fast the variants of a product are on this host, and which is the fastest.

#include <span>

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {

/// 10^9 operations per second of a product of tiles (128 columns, 128 deep, 512 elements) on this
/// thread: the best of `runs`. bf16: of values of bf16. A run takes a tenth of a millisecond.
double product_rate(const ProductKernel& kernel, bool bf16, int runs = 5);

/// The kernel that takes least for a product in fp32 and one of values of bf16; measured once if
/// there are several. Not empty.
const ProductKernel& fastest_product_kernel(std::span<const ProductKernel* const> kernels);

}  // namespace neuron_sim
