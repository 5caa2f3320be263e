#pragma once
// bf16 products with AMX and AVX512_BF16. These kernels do everything else with AVX-512.

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {

bool amx_runs_here();  ///< requests permission for AMX tiles from Linux, once per process
bool avx512_bf16_runs_here();
extern const Bf16Product kAmxBf16, kAvx512Bf16;

}  // namespace neuron_sim
