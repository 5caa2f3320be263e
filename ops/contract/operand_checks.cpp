#include "ops/contract/operand_checks.h"

#include "device/base/errors.h"

namespace neuron_sim {

void refuse_dtype(std::string_view op, const std::string& operand) {
  fail(text(op, ": ", operand, " has a dtype other than float32, float16 and bfloat16."),
       ErrorKind::kType);
}

void refuse_rank(std::string_view op, const std::string& operand, int64_t actual,
                 int64_t expected) {
  fail(text(op, ": ", operand, " has ", actual, " dimensions, expected ", expected, "."));
}

void refuse_no_last_dimension(std::string_view op, const std::string& operand) {
  fail(text(op, ": ", operand, " has no last dimension."));
}

void refuse_different_dtypes(std::string_view op, const std::string& first,
                             const std::string& second) {
  fail(text(op, ": ", first, " and ", second, " have different dtypes."), ErrorKind::kType);
}

void refuse_size(std::string_view op, const std::string& operand, int64_t dimension,
                 const std::string& actual, const std::string& expected, std::string_view reason) {
  fail(text(op, ": dimension ", dimension, " of ", operand, " is ", actual, ", expected ", expected,
            reason.empty() ? "" : text(" (", reason, ")"), "."));
}

void check_float_operand(std::string_view op, std::string_view operand, const TensorSpec& spec) {
  const Dtype dtype = spec.dtype;
  if (dtype == Dtype::kFloat32 || dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16) return;
  refuse_dtype(op, describe(std::string(operand), spec));
}

void check_rank(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t rank) {
  const auto actual = static_cast<int64_t>(spec.shape.size());
  if (actual != rank) refuse_rank(op, describe(std::string(operand), spec), actual, rank);
}

void check_last_dimension(std::string_view op, std::string_view operand, const TensorSpec& spec) {
  if (spec.shape.empty()) refuse_no_last_dimension(op, describe(std::string(operand), spec));
}

void check_same_dtype(std::string_view op, std::string_view first_name, const TensorSpec& first,
                      std::string_view second_name, const TensorSpec& second) {
  if (first.dtype == second.dtype) return;
  refuse_different_dtypes(op, describe(std::string(first_name), first),
                          describe(std::string(second_name), second));
}

void check_size(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t dimension, int64_t size) {
  const int64_t actual = spec.shape[static_cast<size_t>(dimension)];
  if (actual == size) return;
  refuse_size(op, describe(std::string(operand), spec), dimension, text(actual), text(size), "");
}

void check_at_least(std::string_view op, std::string_view option, int64_t value, int64_t minimum) {
  if (value < minimum) {
    fail(text(op, ": ", option, " ", value, " must be at least ", minimum, "."));
  }
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (value > kLargest) {
    fail(text(op, ": ", option, " ", value, " must be at most ", kLargest, "."));
  }
}

std::vector<int64_t> strides_of(const TensorSpec& spec) {
  if (!spec.strides.empty()) return spec.strides;
  std::vector<int64_t> strides(spec.shape.size());
  int64_t stride = 1;
  for (size_t i = spec.shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= spec.shape[i];
  }
  return strides;
}

}  // namespace neuron_sim
