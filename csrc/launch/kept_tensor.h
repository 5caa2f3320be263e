#pragma once
// Tensors that an operator refers to while it runs.

#include <ATen/core/Tensor.h>
#include <c10/util/MaybeOwned.h>

namespace neuron_sim {

using KeptTensor = c10::MaybeOwned<at::Tensor>;

/// Another reference to `tensor`, for as long as the operator that got it runs. A tensor that only
/// its Python object refers to is borrowed: the caller keeps that object, and the second reference
/// would take the GIL when it is made and when it is dropped.
inline KeptTensor kept(const at::Tensor& tensor) {
  const bool of_python = tensor.use_count() == 1 &&
                         tensor.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj() != nullptr;
  return of_python ? KeptTensor::borrowed(tensor) : KeptTensor::owned(at::Tensor(tensor));
}

}  // namespace neuron_sim
