#include "csrc/aten/indexing/operands.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {

using at::Tensor;

void check_movable(const Tensor& tensor) {
  dtype_of(tensor.scalar_type());  // KernelError for dtypes that the chip lacks
  if (tensor.is_conj() || tensor.is_neg()) throw Refusal{"an operand is a lazy conjugate"};
}

void check_indices(const Tensor& indices) {
  const at::ScalarType type = indices.scalar_type();
  if (type != at::kLong && type != at::kInt) throw Refusal{"indices are not int64 or int32"};
  if (!on_device(indices)) throw Refusal{"indices are not on the device"};
}

void check_apart(const Tensor& out, std::initializer_list<Tensor> operands) {
  at::assert_no_internal_overlap(out);
  for (const Tensor& operand : operands) at::assert_no_overlap(out, operand);
}

at::ScalarType addition_dtype(at::ScalarType type, int64_t terms) {
  if (!c10::isIntegralType(type, /*includeBool=*/true)) return at::kFloat;
  constexpr int64_t kExact = int64_t{1} << 24;  // integers that fp32 holds
  const int64_t largest = type == at::kBool ? 1 : int64_t{1} << (8 * c10::elementSize(type));
  if (largest >= kExact || (terms + 1) * largest > kExact) {
    throw Refusal{"DMA adds integers in fp32, which is not exact for so many"};
  }
  return at::kFloat;
}

Tensor sums_as(const Tensor& sums, at::ScalarType type) {
  if (sums.scalar_type() == type) return sums;
  // A conversion from fp32 saturates, one from int32 wraps.
  const bool wraps = c10::isIntegralType(type, /*includeBool=*/false);
  return wraps ? sums.to(at::kInt).to(type) : sums.to(type);
}

Tensor leading(const Tensor& tensor, int64_t dimension) {
  const Tensor moved = tensor.dim() == 0 ? tensor.view(1) : tensor.movedim(dimension, 0);
  const int64_t rows = moved.size(0);
  return moved.reshape({rows, moved.numel() / std::max<int64_t>(rows, 1)});
}

}  // namespace neuron_sim
