#pragma once
// nn.TransformerEncoder's padding mask without gradients: torch drops the padding (nested
// tensors), the device keeps it in a dense tensor that knows its mask.

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// True where [N, T] of a tensor are padding; undefined for a tensor without a mask.
at::Tensor padding_of(const at::Tensor& sequences);
/// The tensor, which knows its padding from now on (no change if undefined).
at::Tensor with_padding(at::Tensor sequences, const at::Tensor& padding);

}  // namespace neuron_sim
