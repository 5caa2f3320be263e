#include "ops/blocks/operand_checks.h"

#include "device/base/errors.h"

namespace neuron_sim {

void check_float_operand(std::string_view op, std::string_view operand, const TensorSpec& spec) {
  const Dtype dtype = spec.dtype;
  if (dtype == Dtype::kFloat32 || dtype == Dtype::kFloat16 || dtype == Dtype::kBfloat16) return;
  fail(text(op, ": ", describe(std::string(operand), spec),
            " has a dtype other than float32, float16 and bfloat16."),
       ErrorKind::kType);
}

void check_rank(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t rank) {
  if (static_cast<int64_t>(spec.shape.size()) == rank) return;
  fail(text(op, ": ", describe(std::string(operand), spec), " has ", spec.shape.size(),
            " dimensions, expected ", rank, "."));
}

void check_last_dimension(std::string_view op, std::string_view operand, const TensorSpec& spec) {
  if (!spec.shape.empty()) return;
  fail(text(op, ": ", describe(std::string(operand), spec), " has no last dimension."));
}

void check_same_dtype(std::string_view op, std::string_view first_name, const TensorSpec& first,
                      std::string_view second_name, const TensorSpec& second) {
  if (first.dtype == second.dtype) return;
  fail(text(op, ": ", describe(std::string(first_name), first), " and ",
            describe(std::string(second_name), second), " have different dtypes."),
       ErrorKind::kType);
}

void check_size(std::string_view op, std::string_view operand, const TensorSpec& spec,
                int64_t dimension, int64_t size) {
  const int64_t actual = spec.shape[static_cast<size_t>(dimension)];
  if (actual == size) return;
  fail(text(op, ": dimension ", dimension, " of ", describe(std::string(operand), spec), " is ",
            actual, ", expected ", size, "."));
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
