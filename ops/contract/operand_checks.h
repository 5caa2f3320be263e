#pragma once
// Checks shared by the ops. Messages name op, operand, property and value.

#include <string>
#include <string_view>

#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

/// The refusals of the checks below, for tensors of torch too (csrc/custom_ops/argument_checks.h).
/// `operand` describes an operand with its name, sizes and dtype.
[[noreturn]] void refuse_dtype(std::string_view op, const std::string& operand);
[[noreturn]] void refuse_rank(std::string_view op, const std::string& operand, int64_t actual,
                              int64_t expected);
[[noreturn]] void refuse_no_last_dimension(std::string_view op, const std::string& operand);
[[noreturn]] void refuse_different_dtypes(std::string_view op, const std::string& first,
                                          const std::string& second);
/// Sizes as text; `reason` gives the origin of the expected one, or is empty.
[[noreturn]] void refuse_size(std::string_view op, const std::string& operand, int64_t dimension,
                              const std::string& actual, const std::string& expected,
                              std::string_view reason);

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
