#include "csrc/aten/dispatch/host_call.h"

#include <ATen/ops/copy_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

#include <cstring>

#include "csrc/aten/dispatch/sparse_layout.h"
#include "csrc/launch/capture.h"
#include "csrc/launch/storage.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/transfer.h"
#include "csrc/launch/written_memory.h"
#include "device/memory/write_watch.h"
#include "device/runtime/devices.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

/// The kernel may have given the host tensor new sizes or new memory.
void reflect(const at::Tensor& host, const at::Tensor& device) {
  const c10::Storage& host_memory = host.storage();
  const c10::Storage& device_memory = device.storage();
  const void* before =
      device_memory.data() == nullptr ? nullptr : hbm().backing(device_memory.data());
  if (host_memory.data() != before) {
    resize_storage(device_memory, host_memory.nbytes());
    if (host_memory.nbytes() > 0) {
      std::byte* const to = hbm().backing(device_memory.data());
      std::memcpy(to, host_memory.data(), host_memory.nbytes());
      note_write({to, to + host_memory.nbytes()});
    }
  }
  c10::TensorImpl* implementation = device.unsafeGetTensorImpl();
  if (host.sizes() != device.sizes() || host.strides() != device.strides()) {
    implementation->set_sizes_and_strides(host.sizes(), host.strides());
  }
  if (host.storage_offset() != device.storage_offset()) {
    implementation->set_storage_offset(host.storage_offset());
  }
  // linalg_lu_solve leaves its result as a conjugate view, for example.
  if (host.is_conj() != device.is_conj()) device._set_conj(host.is_conj());
  if (host.is_neg() != device.is_neg()) device._set_neg(host.is_neg());
}

/// Sizes, strides and dtype of a tensor.
at::Tensor meta_tensor(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
}

void check_dense(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided,
                              "neuron_sim: the device has dense and sparse tensors, not ones of "
                              "layout ",
                              tensor.layout());
}

}  // namespace

at::DeviceType HostCall::place() { return timing_only() ? at::kMeta : at::kCPU; }

at::Tensor HostCall::argument(const at::Tensor& tensor, HostAccess access) {
  const bool written = access != HostAccess::kRead;
  if (!tensor.defined()) return tensor;
  if (!on_device(tensor)) {
    return place() == at::kMeta && tensor.dim() > 0 ? meta_tensor(tensor) : tensor;
  }
  for (Passed& passed : passed_) {
    if (!passed.device.is_same(tensor)) continue;
    passed.written |= written;
    return passed.host;
  }
  if (is_sparse_layout(tensor)) return sparse_argument(tensor, access);
  check_dense(tensor);
  if (GraphCapture* const capture = GraphCapture::active()) {
    capture->refuse("an operator runs on the CPU that no graph can hold");
  }
  if (!device_) device_ = tensor.device();
  if (access != HostAccess::kWrite)
    to_host_.push_back({device_index(tensor), tensor_bytes(tensor)});
  at::Tensor passed = place() == at::kMeta ? meta_tensor(tensor)
                                           : host_tensor(tensor, shared_storage(tensor.storage()));
  passed_.push_back({tensor, std::move(passed), written});
  return passed_.back().host;
}

at::Tensor HostCall::sparse_argument(const at::Tensor& tensor, HostAccess access) {
  TORCH_CHECK_NOT_IMPLEMENTED(place() == at::kCPU,
                              "neuron_sim: while only time is computed "
                              "nothing tells what a sparse tensor has, and how long it takes");
  is_sparse_ = true;
  const at::Tensor host = sparse_over(
      tensor, at::kCPU, [&](const at::Tensor& component) { return argument(component, access); });
  passed_.push_back({tensor, host, access != HostAccess::kRead});
  return host;
}

c10::Storage HostCall::shared_storage(const c10::Storage& device_storage) {
  for (const auto& [device, host] : storages_) {
    if (device == device_storage.unsafeGetStorageImpl()) return host;
  }
  storages_.emplace_back(device_storage.unsafeGetStorageImpl(),
                         host_storage(device_storage, /*only_read=*/true));
  return storages_.back().second;
}

void HostCall::finish() {
  for (const Passed& passed : passed_) {
    if (!passed.written) continue;
    if (is_sparse_layout(passed.device)) {
      set_sparse(passed.device, passed.host,
                 [&](const at::Tensor& component) { return result(component); });
      continue;
    }
    WrittenMemory::note(passed.device);
    if (place() == at::kCPU) {
      reflect(passed.host, passed.device);
    } else if (passed.host.sizes() != passed.device.sizes()) {
      passed.device.resize_(passed.host.sizes());
    }
    to_device_.push_back({device_index(passed.device), tensor_bytes(passed.device)});
  }
}

at::Tensor HostCall::result(const at::Tensor& host) {
  if (!host.defined() || host.device().type() != place() || !device_) return host;
  for (const Passed& passed : passed_) {
    if (passed.host.is_same(host)) return passed.device;
  }
  if (is_sparse_layout(host)) {
    return sparse_over(host, *device_,
                       [&](const at::Tensor& component) { return result(component); });
  }
  check_dense(host);
  at::Tensor device = at::empty_like(host, host.options().device(*device_));
  if (place() == at::kCPU) {
    at::Tensor target = host_tensor(device);
    at::native::copy_(target, host, /*non_blocking=*/false);
  }
  to_device_.push_back({device_index(device), tensor_bytes(device)});
  return device;
}

Bytes HostCall::account() const {
  Bytes moved{};
  for (const Transfer& transfer : to_host_) {
    account_to_host(transfer.device, transfer.bytes);
    moved.count += transfer.bytes.count;
  }
  for (const Transfer& transfer : to_device_) {
    account_to_device(transfer.device, transfer.bytes);
    moved.count += transfer.bytes.count;
  }
  return moved;
}

}  // namespace neuron_sim
