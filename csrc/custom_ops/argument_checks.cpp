#include "csrc/custom_ops/argument_checks.h"

#include <c10/util/Exception.h>

#include <sstream>

#include "csrc/launch/tensor_access.h"
#include "device/base/errors.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {
namespace {

std::string dtype_name(const at::Tensor& tensor) {
  try {
    return std::string(name(dtype_of(tensor.scalar_type())));
  } catch (const KernelError&) {
    return c10::toString(tensor.scalar_type());  // the chip lacks this dtype
  }
}

}  // namespace

std::string describe(const NamedTensor& operand) {
  std::ostringstream out;
  out << operand.name << ' ' << operand.tensor.sym_sizes() << ' ' << dtype_name(operand.tensor);
  return out.str();
}

void check_same_device(const char* op, std::initializer_list<NamedTensor> operands) {
  const NamedTensor& first = *operands.begin();
  for (const NamedTensor& operand : operands) {
    TORCH_CHECK(operand.tensor.device() == first.tensor.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ",
                first.tensor.device(), " and ", operand.tensor.device(), ": ", op, " got ",
                first.name, " on ", first.tensor.device(), " and ", operand.name, " on ",
                operand.tensor.device(), ".");
  }
}

void check_same_dtype(const char* op, std::initializer_list<NamedTensor> operands) {
  const NamedTensor& first = *operands.begin();
  for (const NamedTensor& operand : operands) {
    if (operand.tensor.scalar_type() == first.tensor.scalar_type()) continue;
    refuse_different_dtypes(op, describe(first), describe(operand));
  }
}

void check_float(const char* op, const NamedTensor& operand) {
  const at::ScalarType type = operand.tensor.scalar_type();
  if (type == at::kFloat || type == at::kHalf || type == at::kBFloat16) return;
  refuse_dtype(op, describe(operand));
}

void check_rank(const char* op, const NamedTensor& operand, int64_t rank) {
  const int64_t actual = operand.tensor.dim();
  if (actual != rank) refuse_rank(op, describe(operand), actual, rank);
}

void check_last_dimension(const char* op, const NamedTensor& operand) {
  if (operand.tensor.dim() == 0) refuse_no_last_dimension(op, describe(operand));
}

void check_size(const char* op, const NamedTensor& operand, int64_t dimension,
                const c10::SymInt& expected, const char* reason) {
  const c10::SymInt& actual = operand.tensor.sym_sizes()[static_cast<size_t>(dimension)];
  if (actual.sym_eq(expected).expect_true(__FILE__, __LINE__)) return;
  refuse_size(op, describe(operand), dimension, c10::str(actual), c10::str(expected), reason);
}

void check_not_empty(const char* op, const NamedTensor& operand) {
  for (int64_t dimension = 0; dimension < operand.tensor.dim(); ++dimension) {
    const c10::SymInt& size = operand.tensor.sym_sizes()[static_cast<size_t>(dimension)];
    TORCH_CHECK_VALUE(size.sym_gt(0).expect_true(__FILE__, __LINE__), op, ": dimension ", dimension,
                      " of ", describe(operand), " is 0, expected at least 1.");
  }
}

void check_gradient(const char* op, const NamedTensor& gradient, const NamedTensor& operand,
                    c10::SymIntArrayRef sizes) {
  check_same_device(op, {operand, gradient});
  check_same_dtype(op, {operand, gradient});
  check_rank(op, gradient, static_cast<int64_t>(sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    check_size(op, gradient, static_cast<int64_t>(i), sizes[i], "the result of the op");
  }
}

}  // namespace neuron_sim
