#include "csrc/launch/tensor_access.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

#include <utility>

#include "csrc/launch/capture.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/values.h"
#include "device/memory/write_watch.h"
#include "device/runtime/devices.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// A device storage that CPU kernels write too.
struct SharedMemory {
  SharedMemory(const c10::Storage& device, const HostBytes& bytes) : storage(device), open(bytes) {}

  c10::Storage storage;
  OpenForWriting open;
};

}  // namespace

std::byte* backing(const at::Tensor& tensor) {
  TORCH_CHECK(on_device(tensor), "neuron_sim: expected a tensor on a ", device_name(),
              " device, got one on ", tensor.device());
  if (tensor.numel() == 0) return nullptr;
  if (!timing_only()) check_values(*tensor.storage().unsafeGetStorageImpl());
  return translate_errors([&] { return hbm().backing(tensor.const_data_ptr()); });
}

int device_index(const at::Tensor& tensor) {
  TORCH_CHECK(on_device(tensor), "neuron_sim: expected a tensor on a ", device_name(),
              " device, got one on ", tensor.device());
  return tensor.device().index();
}

Dtype dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kBool: return Dtype::kBool;
    case at::kChar: return Dtype::kInt8;
    case at::kShort: return Dtype::kInt16;
    case at::kInt: return Dtype::kInt32;
    case at::kByte: return Dtype::kUint8;
    case at::kUInt16: return Dtype::kUint16;
    case at::kUInt32: return Dtype::kUint32;
    case at::kFloat8_e5m2: return Dtype::kFloat8E5m2;
    case at::kHalf: return Dtype::kFloat16;
    case at::kBFloat16: return Dtype::kBfloat16;
    case at::kFloat: return Dtype::kFloat32;
    default: break;
  }
  fail(text("a NeuronCore has no dtype ", std::string(c10::toString(type)),
            "; it has bool, 8-, 16- and 32-bit integers, float8_e5m2, float16, bfloat16, float32"),
       ErrorKind::kType);
}

c10::Storage host_storage(const c10::Storage& device_storage, bool only_read) {
  c10::StorageImpl* const implementation = device_storage.unsafeGetStorageImpl();
  const void* device_pointer = only_read ? implementation->data() : implementation->mutable_data();
  void* host_pointer = nullptr;
  if (device_pointer != nullptr) {
    check_values(*device_storage.unsafeGetStorageImpl());
    host_pointer = translate_errors([&] { return hbm().backing(device_pointer); });
  }
  const auto* const begin = static_cast<const std::byte*>(host_pointer);
  auto* owner = new SharedMemory(device_storage, {begin, begin + device_storage.nbytes()});
  c10::DataPtr data(
      host_pointer, owner, [](void* kept) { delete static_cast<SharedMemory*>(kept); }, c10::kCPU);
  return c10::Storage(c10::Storage::use_byte_size_t(), device_storage.nbytes(), std::move(data),
                      c10::GetCPUAllocator(), /*resizable=*/true);
}

at::Tensor host_tensor(const at::Tensor& tensor, c10::Storage storage) {
  at::Tensor host = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  c10::TensorImpl* implementation = host.unsafeGetTensorImpl();
  implementation->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) implementation->set_wrapped_number(true);
  if (tensor.is_conj()) host._set_conj(true);
  if (tensor.is_neg()) host._set_neg(true);
  return host;
}

at::Tensor host_tensor(const at::Tensor& tensor, bool only_read) {
  if (!on_device(tensor)) return tensor;
  if (GraphCapture* const capture = GraphCapture::active()) {
    capture->check_known(tensor, "a collective or a copy");
  }
  return host_tensor(tensor, host_storage(tensor.storage(), only_read));
}

}  // namespace neuron_sim
