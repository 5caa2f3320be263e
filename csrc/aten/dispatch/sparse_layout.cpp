#include "csrc/aten/dispatch/sparse_layout.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors.h>
#include <c10/core/DeviceGuard.h>

namespace neuron_sim {
namespace {

at::SparseCsrTensorImpl& compressed(const at::Tensor& tensor) {
  return *static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

}  // namespace

at::Tensor sparse_over(const at::Tensor& like, at::Device device, ReplaceComponent replaced) {
  const c10::DeviceGuard guard(device);  // torch makes the components at first, on the current one
  const auto options = like.options().device(device);
  if (like.layout() == at::kSparse) {
    const at::SparseTensorImpl& parts = *at::sparse::get_sparse_impl(like);
    return at::_sparse_coo_tensor_with_dims_and_tensors(
        parts.sparse_dim(), parts.dense_dim(), like.sizes(), replaced(parts.indices()),
        replaced(parts.values()), options, parts.coalesced());
  }
  const at::SparseCsrTensorImpl& parts = compressed(like);
  return at::_sparse_compressed_tensor_unsafe(replaced(parts.compressed_indices()),
                                              replaced(parts.plain_indices()),
                                              replaced(parts.values()), like.sizes(), options);
}

void set_sparse(const at::Tensor& target, const at::Tensor& like, ReplaceComponent replaced) {
  if (like.layout() == at::kSparse) {
    const at::SparseTensorImpl& parts = *at::sparse::get_sparse_impl(like);
    at::SparseTensorImpl& written = *at::sparse::get_sparse_impl(target);
    written.raw_resize_(parts.sparse_dim(), parts.dense_dim(), like.sizes());
    written.set_indices_and_values_unsafe(replaced(parts.indices()), replaced(parts.values()));
    written.set_coalesced(parts.coalesced());
    return;
  }
  const at::SparseCsrTensorImpl& parts = compressed(like);
  compressed(target).set_member_tensors(replaced(parts.compressed_indices()),
                                        replaced(parts.plain_indices()), replaced(parts.values()),
                                        like.sizes());
}

}  // namespace neuron_sim
