#pragma once
// Checks shared by the ops. Messages name op, operand, property and value.

#include <string_view>

#include "ops/blocks/tensor_spec.h"

namespace neuron_sim {

/// fp32, fp16 or bf16 (KernelError kType): the dtypes of TensorE and the Scalar engine.
void check_float_operand(std::string_view op, std::string_view operand, const TensorSpec& spec);
void check_rank(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t rank);
/// At least one dimension (KernelError kValue).
void check_last_dimension(std::string_view op, std::string_view operand, const TensorSpec& spec);
/// Equal dtypes (KernelError kType).
void check_same_dtype(std::string_view op, std::string_view first_name, const TensorSpec& first,
                      std::string_view second_name, const TensorSpec& second);
/// Size of a dimension (KernelError kValue).
void check_size(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t dimension, int64_t size);

/// An option of an op: `value` is at least `minimum`, and at most 2^31, so that sums and products
/// of a few sizes stay in range (KernelError kValue).
void check_at_least(std::string_view op, std::string_view option, int64_t value, int64_t minimum);

/// Strides of a spec in elements, dense when it has none.
std::vector<int64_t> strides_of(const TensorSpec& spec);

}  // namespace neuron_sim
