#pragma once
// Shared by layer, group and batch norms.

#include <ATen/core/Tensor.h>

#include <optional>

#include "csrc/aten/blocks/rows.h"

namespace neuron_sim {

/// A tensor that is given and has elements to read.
inline bool given(const std::optional<at::Tensor>& tensor) { return tensor && tensor->defined(); }

/// Stages of a normalisation of `count` elements of input 0: mean, then 1 / sqrt(variance + eps).
/// `operands`: how many come before the numbers.
std::vector<RowStage> moment_stages(int operands, int64_t count, double epsilon);

/// Refusal unless all tensors are of floating dtypes the chip computes in.
void check_norm_dtypes(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                       const std::optional<at::Tensor>& bias);

}  // namespace neuron_sim
