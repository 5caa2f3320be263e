// Sparse tensors of the device. torch's kernels that only handle the dense tensors of indices and
// values call operators for them, which run where they lie; so the CPU's serve this device too. An
// operator that is not here falls back.

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <sstream>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/sparse/products.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The device that a call's tensors are on, or that it names.
std::optional<at::Device> device_of_call(at::ArrayRef<c10::IValue> arguments) {
  for (const c10::IValue& value : arguments) {
    if (value.isDevice()) return value.toDevice();
    if (value.isTensor() && on_device(value.toTensor())) return value.toTensor().device();
    if (value.isTensorList() && !value.toTensorList().empty())
      return value.toTensorList().get(0).device();
  }
  return std::nullopt;
}

template <c10::DispatchKey key>
void run_shared_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet,
                       torch::jit::Stack* stack) {
  const auto count = op.schema().arguments().size();
  const c10::OptionalDeviceGuard guard(device_of_call(torch::jit::last(*stack, count)));
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);
}

template <c10::DispatchKey key>
void share_kernels(torch::Library& m, const char* overloads) {
  std::istringstream names(overloads);
  for (std::string name; names >> name;) {
    m.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_shared_kernel<key>>());
  }
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  fall_back(op, stack, "");
}

/// Lets all other operators that the CPU has for compressed tensors fall back: torch's composite
/// kernels, which know strided tensors only, would come before the fallback of all operators.
void fall_back_otherwise(torch::Library& m) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (name.name.rfind("aten::", 0) != 0 || !op) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::SparseCsrCPU)) continue;
    if (op->hasKernelForDispatchKey(c10::DispatchKey::SparseCsrPrivateUse1)) continue;
    m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
}

/// The sparse tensor of that shape with other indices or values.
Tensor like(const Tensor& self, const Tensor& indices, const Tensor& values, bool coalesced) {
  return at::_sparse_coo_tensor_with_dims_and_tensors(
      self.sparse_dim(), self.dense_dim(), self.sizes(), indices, values,
      self.options().dtype(values.scalar_type()), coalesced);
}

/// Sums the values of equal indices. Which indices are equal is index arithmetic.
Tensor coalesce(const Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  const Tensor indices = self._indices(), values = self._values();
  if (self._nnz() < 2) return like(self, indices.clone(), values.clone(), true);
  Tensor place = indices.select(0, 0);
  for (int64_t d = 1; d < self.sparse_dim(); ++d)
    place = place * self.size(d) + indices.select(0, d);
  auto [places, run, counts] = at::_unique2(place, /*sorted=*/true, /*return_inverse=*/true);
  at::DimVector shape(values.sizes());
  shape[0] = places.numel();
  const Tensor sums = at::zeros(shape, values.options()).index_add_(0, run, values);
  std::vector<Tensor> rows(static_cast<size_t>(self.sparse_dim()));
  for (size_t d = rows.size(); d-- > 0;) {
    const int64_t size = self.size(static_cast<int64_t>(d));
    rows[d] = places.remainder(size);
    places = places.floor_divide(size);
  }
  return like(self, at::stack(rows), sums, true);
}

c10::List<std::optional<Tensor>> index_of(const Tensor& sparse) {
  c10::List<std::optional<Tensor>> rows;
  for (const Tensor& row : sparse._indices().unbind()) rows.push_back(row);
  return rows;
}

/// A sparse tensor times a number or a dense tensor of its shape.
Tensor multiply(const Tensor& self, const Tensor& other) {
  const bool first = self.layout() == at::kSparse;
  const Tensor &sparse = first ? self : other, &dense = first ? other : self;
  if (sparse.layout() != at::kSparse || dense.layout() != at::kStrided) {
    throw Refusal{"only a number or a dense tensor is multiplied with a sparse one on the device"};
  }
  if (dense.dim() > 0 && dense.sizes() != sparse.sizes()) throw Refusal{"sizes differ"};
  const c10::DeviceGuard guard(sparse.device());
  const bool number = dense.dim() == 0 || sparse._nnz() == 0;
  const Tensor factors = number ? dense : dense.index(index_of(sparse));
  return like(sparse, sparse._indices(), sparse._values() * factors, sparse.is_coalesced());
}

/// Adds a sparse tensor to a dense one.
Tensor& add(Tensor& self, const Tensor& other, const at::Scalar& alpha) {
  if (self.layout() != at::kStrided || other.layout() != at::kSparse) {
    throw Refusal{"only a sparse COO tensor is added to a dense one on the device"};
  }
  if (self.sizes() != other.sizes() || self.scalar_type() != other.scalar_type()) {
    throw Refusal{"sizes or dtypes differ"};
  }
  check_floating(self);
  if (other._nnz() == 0) return self;
  const c10::DeviceGuard guard(self.device());
  const Tensor values = other._values();
  return self.index_put_(index_of(other), alpha.equal(1) ? values : values * alpha,
                         /*accumulate=*/true);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
  share_kernels<c10::DispatchKey::SparseCPU>(
      m,
      "_sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors empty.memory_format "
      "empty_like sparse_dim dense_dim _dimI _dimV _nnz is_coalesced _indices _values indices "
      "values "
      "_coalesced_ sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ copy_ "
      "copy_sparse_to_sparse_ clone zero_ permute unsqueeze _sparse_broadcast_to cat sum _to_dense "
      "_to_sparse _to_sparse.sparse_dim _to_sparse_csr _to_sparse_csc sparse_mask mm mv");
  register_products(m);
  m.impl("_coalesce", device_operator<coalesce>());
  m.impl("mul.Tensor", device_operator<multiply>());
  m.impl("add_.Tensor", device_operator<add>());
}

TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {
  share_kernels<c10::DispatchKey::SparseCsrCPU>(
      m,
      "empty.memory_format empty_like sparse_dim dense_dim _nnz values crow_indices col_indices "
      "ccol_indices row_indices copy_ clone zero_ resize_as_sparse_ select.int _to_dense "
      "_to_sparse "
      "_to_sparse.sparse_dim");
  register_compressed_products(m);
  fall_back_otherwise(m);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  share_kernels<c10::DispatchKey::CPU>(
      m, "_to_sparse _to_sparse.sparse_dim _to_sparse_csr _to_sparse_csc");
}

}  // namespace neuron_sim
