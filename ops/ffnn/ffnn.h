#pragma once
// Feedforward network: h = hidden_activation(h @ W_i + b_i) from h = x, layer by layer, and
// output_activation(h @ W_n + b_n) at the end.
//
// Algorithm. Hidden activations are kept transposed, features on partitions and batch rows free:
// the layout TensorE needs for the next layer, so that only x is ever transposed. A weight [d_in,
// d_out] is a stationary operand in its HBM layout, the bias of a feature is per partition, and one
// Scalar instruction adds it, applies the function, rounds and moves the tile out of PSUM. The last
// layer swaps the operands: batch rows on partitions, classes free, so that softmax and the store
// run along the free dimension; its bias is the same row in every partition.
//
// Tile plan: up to 512 batch rows at a time, every activation in SBUF; the weights stay in SBUF for
// all of the batch if they fit, else they stream by, 128 columns of at most 4096 rows at a time.
//
// Roofline: as matmul, M = batch; one Program, HBM traffic x, weights (once if resident, else once
// per batch tile) and the output.

#include <array>
#include <string>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct FfnnOptions {
  std::string hidden_activation = "relu";  ///< pointwise: any but softmax
  std::string output_activation = "softmax";
  int64_t batch_tile = 0;       ///< batch rows at a time, at most 512; 0 takes as many as fit
  bool stream_weights = false;  ///< never keep the weights in SBUF
  static constexpr std::array kFields{"hidden_activation", "output_activation", "", ""};
};

/// [N, d_n] of x's dtype. Operands: x [N, d0], all weights [d_i, d_{i+1}], all biases [d_{i+1}],
/// all of one dtype (fp32, fp16, bf16), any strides. Intermediate activations are rounded to the
/// dtype. KernelError for specs that do not match, no layers, empty widths and unknown activations.
extern const KernelDefinition<FfnnOptions> kFfnnForward;

/// int32 [N]: the index of the largest output of kFfnnForward in each row, the lowest when
/// several are equal. A row of NaN gives 0, as in torch; in a row that is NaN only in part (not
/// possible after softmax) NaN is ignored, where torch returns the first one. KernelError for more
/// classes than limits.max8_maximum_elements (16384).
extern const KernelDefinition<FfnnOptions> kFfnnPredict;

}  // namespace neuron_sim
