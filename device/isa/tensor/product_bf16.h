#pragma once
// bf16 products with AMX, whose kernel does everything else with AVX-512.

#include "device/isa/tensor/product_kernel.h"

namespace neuron_sim {

bool amx_runs_here();  ///< requests permission for AMX tiles from Linux, once per process
extern const Bf16Product kAmxBf16;

}  // namespace neuron_sim
