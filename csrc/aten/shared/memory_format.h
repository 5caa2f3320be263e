#pragma once
// Results in the memory format that torch's CPU gives them.

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// `format`; but in a graph torch.compile expects contiguous results where its fake tensors of a
/// device that is not torch's own are contiguous: of convolutions and pixel_shuffle.
at::MemoryFormat expected_format(at::MemoryFormat format);

/// `result`, or a copy of it in `format` where its strides differ; a kernel writes contiguous
/// rows, and the copy transposes on chip.
at::Tensor in_format(const at::Tensor& result, at::MemoryFormat format);

/// `result` with the strides that at::empty_like() gives `like`, of the same sizes.
at::Tensor with_strides_of(const at::Tensor& result, const at::Tensor& like);

}  // namespace neuron_sim
