#pragma once
// Products of bf16 by the operations that some hosts have for them; all else of these kernels is
// that of AVX-512.

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {

bool amx_runs_here();  ///< asks the kernel for the tiles, for the process
bool avx512_bf16_runs_here();
extern const Bf16Product kAmxBf16, kAvx512Bf16;

}  // namespace neuron_sim
