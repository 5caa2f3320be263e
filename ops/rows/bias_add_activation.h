#pragma once
// bias_add_activation: out = activation(x + bias), bias along the last dimension.
//
// Algorithm. Rows lie on partitions. The bias is loaded into every partition once per panel of
// columns; a tile of x is loaded, the bias added on Vector in fp32, the function applied and the
// result rounded once on Scalar, and stored. Short rows are grouped, several to a partition, so
// that a descriptor and an instruction have enough elements. Softmax needs a whole row in a
// partition; rows that do not fit take two passes (streaming_softmax.h). The load and the addition
// of a tile are emitted before the function of the previous one, so that Vector never waits for
// Scalar.
//
// Tile plan: [128, 2048] elements in rings of three: loads on Sync's queue, stores on GpSimd's.
//
// Roofline: DMA, 2 * elements * itemsize bytes; Vector takes 2 cycles and Scalar 1 per element and
// partition.

#include <array>
#include <string>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct BiasAddActivationOptions {
  std::string activation = "identity";
  static constexpr std::array kFields{"activation"};
};

/// x [..., F] of any leading dimensions and strides, bias [F] of the same dtype (fp32, fp16, bf16);
/// the output is dense. `activation` is a name that parse_output_function knows, softmax (over the
/// last dimension) among them. KernelError for other ranks, sizes, dtypes and names.
extern const KernelDefinition<BiasAddActivationOptions> kBiasAddActivation;

}  // namespace neuron_sim
