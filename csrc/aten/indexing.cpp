#include "csrc/aten/indexing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "csrc/aten/device_operator.h"
#include "csrc/tensor_access.h"

namespace neuron_sim {

using at::Tensor;

void check_movable(const Tensor& tensor) {
  dtype_of(tensor.scalar_type());  // KernelError for dtypes that the chip has not
  if (tensor.is_conj() || tensor.is_neg()) throw Refusal{"an operand is a lazy conjugate"};
}

void check_indices(const Tensor& indices) {
  const at::ScalarType type = indices.scalar_type();
  if (type != at::kLong && type != at::kInt) throw Refusal{"indices are not int64 or int32"};
  if (!on_device(indices)) throw Refusal{"indices are not on the device"};
}

Tensor wrapped(const Tensor& indices, int64_t size) {
  return at::where(indices.lt(0), indices.add(size), indices);
}

Tensor leading(const Tensor& tensor, int64_t dimension) {
  const Tensor moved = tensor.dim() == 0 ? tensor.view(1) : tensor.movedim(dimension, 0);
  return moved.reshape({moved.size(0), -1});
}

}  // namespace neuron_sim
