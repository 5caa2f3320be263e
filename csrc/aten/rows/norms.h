#pragma once
// Shared by layer, group, batch and root-mean-square norms.

#include <ATen/DimVector.h>
#include <ATen/core/Tensor.h>

#include <optional>

#include "csrc/aten/shared/rows.h"

namespace neuron_sim {

/// A tensor that is given and has elements to read.
inline bool given(const std::optional<at::Tensor>& tensor) { return tensor && tensor->defined(); }

/// Stages of a normalisation of `count` elements of input 0: mean, then 1 / sqrt(variance + eps).
/// `operands`: how many come before the numbers.
std::vector<RowStage> moment_stages(int operands, int64_t count, double epsilon);

/// Refusal unless all tensors are of floating dtypes the chip computes in.
void check_norm_dtypes(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                       const std::optional<at::Tensor>& bias);

/// Which dimensions of `input` belong to a row: the last `count`.
std::vector<bool> row_dimensions(const at::Tensor& input, size_t count);
/// The shape of the numbers of rows: the leading shape of `input`, then ones.
at::DimVector statistics_shape(const at::Tensor& input, size_t row_dimensions);

}  // namespace neuron_sim
