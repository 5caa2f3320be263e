// Blocks of a product on hosts with AVX-512F.

#define NEURON_SIM_TARGET __attribute__((target("avx512f")))
#include "device/isa/tensor/product_block_avx512.h"

namespace neuron_sim {
namespace {

bool runs_here() { return __builtin_cpu_supports("avx512f") != 0; }

}  // namespace

const ProductKernel kAvx512Product = {"avx512",   runs_here, kBlockShape,
                                      kFlatShape, copy_rows, kNarrowShape};

}  // namespace neuron_sim
