#pragma once
// Checks shared by the custom ops, with the messages of ops/contract/operand_checks.h.
// Sizes may be symbolic (torch.export, torch.compile). Errors are KernelError, which
// translate_errors() makes TypeError (dtypes) or ValueError; a device mismatch is c10::Error.

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <initializer_list>
#include <string>

namespace neuron_sim {

/// A tensor argument of an op and its name.
struct NamedTensor {
  const char* name;
  const at::Tensor& tensor;
};

/// "b [4, 5] float32 on neuron_sim:0", for messages.
std::string describe(const NamedTensor& operand);

/// All on the device of the first one; c10::Error (RuntimeError) otherwise.
void check_same_device(const char* op, std::initializer_list<NamedTensor> operands);
/// All of the dtype of the first one.
void check_same_dtype(const char* op, std::initializer_list<NamedTensor> operands);
/// float32, float16 or bfloat16.
void check_float(const char* op, const NamedTensor& operand);
/// Number of dimensions.
void check_rank(const char* op, const NamedTensor& operand, int64_t rank);
/// At least one dimension.
void check_last_dimension(const char* op, const NamedTensor& operand);
/// Size of a dimension. `reason` gives the origin of the expected size.
void check_size(const char* op, const NamedTensor& operand, int64_t dimension,
                const c10::SymInt& expected, const char* reason);
/// No dimension is empty; c10::ValueError.
void check_not_empty(const char* op, const NamedTensor& operand);

/// `gradient` has these sizes, the dtype and the device of `operand`; errors as above.
void check_gradient(const char* op, const NamedTensor& gradient, const NamedTensor& operand,
                    c10::SymIntArrayRef sizes);

}  // namespace neuron_sim
