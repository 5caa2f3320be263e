#include "csrc/launch/storage.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/set_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>

#include "csrc/launch/tensor_access.h"
#include "csrc/runtime/runtime.h"
#include "csrc/tally/launch_tally.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {

void resize_storage(const c10::Storage& storage, size_t bytes) {
  c10::StorageImpl* implementation = storage.unsafeGetStorageImpl();
  TORCH_CHECK(implementation->resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(storage.device());
  c10::Allocator* allocator = c10::GetAllocator(kDeviceType);
  c10::DataPtr grown = allocator->allocate(bytes);
  const size_t kept = std::min(bytes, storage.nbytes());
  if (kept > 0) allocator->copy_data(grown.get(), implementation->mutable_data(), kept);
  implementation->set_data_ptr_noswap(std::move(grown));
  implementation->set_nbytes(bytes);
}

bool fills_uninitialized_memory() {
  const at::Context& context = at::globalContext();
  return !timing_only() && context.deterministicAlgorithms() &&
         context.deterministicFillUninitializedMemory();
}

at::Tensor filled_if_wanted(at::Tensor tensor) {
  prepare_tallies();  // every new tensor comes here, and one precedes the first launch
  if (C10_UNLIKELY(fills_uninitialized_memory()) && tensor.numel() > 0) {
    at::Tensor host = host_tensor(tensor, host_storage(tensor.storage()));
    at::native::fill_empty_deterministic_(host);
  }
  return tensor;
}

at::Tensor uninitialised(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device,
                         std::optional<at::MemoryFormat> format) {
  constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
  const c10::DeviceGuard guard(device);
  return filled_if_wanted(
      at::detail::empty_generic(sizes, c10::GetAllocator(kDeviceType), kKeys, dtype, format));
}

namespace {

using at::Tensor;

/// PyTorch grows a storage that is too small for its tensor and never shrinks one.
void grow_storage(const Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const size_t needed = at::detail::computeStorageNbytes(
      tensor.sizes(), tensor.strides(), tensor.element_size(), tensor.storage_offset());
  if (needed > tensor.storage().nbytes()) resize_storage(tensor.storage(), needed);
}

/// at::native::resize_ copies through the device pointer on the host, so this replaces it.
const Tensor& resize(const Tensor& self, c10::IntArrayRef size,
                     std::optional<at::MemoryFormat> format) {
  at::detail::check_size_nonnegative(size);
  c10::TensorImpl* implementation = self.unsafeGetTensorImpl();
  if (self.sizes() != size) implementation->set_sizes_contiguous(size);
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
    implementation->empty_tensor_restride(*format);
  }
  const auto before = static_cast<int64_t>(self.storage().nbytes());
  grow_storage(self);
  if (C10_UNLIKELY(fills_uninitialized_memory())) {
    at::native::fill_resize_deterministic_(host_tensor(self, host_storage(self.storage())), before);
  }
  return self;
}

Tensor& set_storage_at(Tensor& self, c10::Storage storage, int64_t offset, c10::IntArrayRef size,
                       c10::IntArrayRef stride) {
  at::detail::check_size_nonnegative(size);
  const bool contiguous = stride.empty() && !size.empty();
  at::native::checkSetStorage(self, std::move(storage), offset, size,
                              contiguous ? c10::IntArrayRef() : stride);
  c10::TensorImpl* implementation = self.unsafeGetTensorImpl();
  implementation->set_storage_offset(offset);
  if (contiguous) {
    implementation->set_sizes_contiguous(size);
  } else {
    implementation->set_sizes_and_strides(size, stride);
  }
  grow_storage(self);
  return self;
}

Tensor& set_storage(Tensor& self, c10::Storage storage) {
  const auto elements = static_cast<int64_t>(storage.nbytes() / self.dtype().itemsize());
  return set_storage_at(self, std::move(storage), 0, {elements}, {});
}

Tensor& set_empty(Tensor& self) {
  const c10::DeviceGuard guard(self.device());
  c10::Storage empty(c10::Storage::use_byte_size_t(), 0, c10::GetAllocator(kDeviceType),
                     /*resizable=*/true);
  return set_storage_at(self, std::move(empty), 0, {0}, {});
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", resize);
  m.impl("set_.source_Storage_storage_offset", set_storage_at);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("set_", set_empty);
}

}  // namespace neuron_sim
