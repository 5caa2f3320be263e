#pragma once
// Hands device tensors to a CPU kernel.

#include <ATen/core/Tensor.h>

#include <optional>
#include <utility>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

/// What the CPU kernel does with an argument.
enum class HostAccess {
  kRead,
  kUpdate,  ///< reads and writes it, and may resize it
  kWrite    ///< an out= tensor: writes it only, and may resize it
};

/// The tensors of one call to a CPU kernel. Device tensors are passed as CPU tensors over the same
/// memory: nothing is copied, in-place results need no copying back, and even a mutation that the
/// operator's schema does not declare (the running statistics of batch_norm) is kept. Tensors that
/// share a storage share it on the host too, so the CPU kernel sees overlaps. The caller unshares
/// memory that copies on write and that the kernel writes, before it hands the first tensor over.
///
/// While timing_only() there are no bytes to hand over: tensors are passed as meta tensors.
///
/// account() charges the simulated time of the real thing: inputs cross the host link, the host
/// computes in no time, results cross back.
class HostCall {
 public:
  /// Where the tensors of a call are: kCPU or kMeta.
  static at::DeviceType place();
  /// The CPU tensor for an argument of the call; an undefined or non-device tensor is returned
  /// unchanged.
  at::Tensor argument(const at::Tensor& tensor, HostAccess access = HostAccess::kRead);
  /// Brings sizes, strides and reallocated storage of written arguments back to the device tensors.
  void finish();
  /// The device tensor for a result of the kernel: the argument itself if the kernel returned one,
  /// else a copy on the device of the call. Call after finish().
  at::Tensor result(const at::Tensor& host);
  /// Puts the transfers of all arguments and results on the schedule; returns their bytes. Call
  /// last.
  Bytes account() const;

  /// Where results go: the device of the first device tensor, unless set.
  std::optional<at::Device> device() const { return device_; }
  void set_device(at::Device device) { device_ = device; }
  /// Whether an argument is sparse.
  bool is_sparse() const { return is_sparse_; }

 private:
  struct Passed {
    at::Tensor device;
    at::Tensor host;
    bool written = false;
  };
  /// A sparse CPU tensor over the memories of the indices and values of a device tensor.
  at::Tensor sparse_argument(const at::Tensor& tensor, HostAccess access);
  c10::Storage shared_storage(const c10::Storage& device_storage);

  struct Transfer {
    int device;
    Bytes bytes;
  };

  std::vector<Passed> passed_;
  std::vector<Transfer> to_host_, to_device_;
  std::vector<std::pair<c10::StorageImpl*, c10::Storage>> storages_;  ///< device -> host
  std::optional<at::Device> device_;
  bool is_sparse_ = false;
};

}  // namespace neuron_sim
