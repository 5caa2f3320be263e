// Copies between host and device, between devices and within one; any dtypes, strides and
// conjugate or negative views on either side.

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/copy_native.h>
#include <torch/library.h>

#include <string>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/launch/capture.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/transfer.h"
#include "csrc/launch/written_memory.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/semantics.h"
#include "csrc/runtime/values.h"
#include "device/memory/write_watch.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr const char* kCopy = "aten::_copy_from";

void check_place(const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kStrided &&
                                  (tensor.is_cpu() || on_device(tensor)),
                              "neuron_sim: copies go between dense CPU and ", device_name(),
                              " tensors, not ", tensor.layout(), " tensors on ", tensor.device());
}

/// RuntimeError, as on the CPU, unless `self` broadcasts to `target` and they overlap in memory
/// fully or not at all.
void check_pair(const Tensor& self, const Tensor& target) {
  if (self.sizes() != target.sizes()) {
    const at::DimVector shape = at::infer_size_dimvector(target.sizes(), self.sizes());
    TORCH_CHECK(target.sizes() == at::IntArrayRef(shape), "output with shape ", target.sizes(),
                " doesn't match the broadcast shape ", at::IntArrayRef(shape));
  }
  at::assert_no_internal_overlap(target);
  at::assert_no_partial_overlap(target, self);
  const bool between = self.device() != target.device() && on_device(self) && on_device(target);
  TORCH_CHECK(!between || !vendor_semantics(), "a copy from ", self.device(), " to ",
              target.device(),
              ": TorchNeuron copies within the same Neuron core only; copy through the CPU");
}

/// The host converts dtypes, so what crosses the link is in the dtype of the device side.
void account(const Tensor& source, const Tensor& target, bool non_blocking) {
  if (!on_device(source)) {
    account_to_device(device_index(target), tensor_bytes(target), non_blocking);
  } else if (!on_device(target)) {
    account_to_host(device_index(source), tensor_bytes(source), non_blocking);
  } else if (source.device() == target.device()) {
    account_on_device(device_index(target), tensor_bytes(target));
  } else {
    account_between(device_index(source), device_index(target), tensor_bytes(source));
  }
}

/// A copy within one device that its DMA and engines cannot do. Casts from and to int64 and of
/// single numbers are index arithmetic; double precision and complex numbers fall back, but
/// TorchNeuron casts double precision on the host as a matter of course.
void note_host_copy(const Tensor& self, const Tensor& target) {
  const auto reals = [](const Tensor& tensor) {
    return !tensor.is_complex() &&
           (tensor.dim() == 0 || tensor.scalar_type() != at::kDouble || vendor_semantics());
  };
  const auto either = [&](at::ScalarType type) {
    return self.scalar_type() == type || target.scalar_type() == type;
  };
  if (reals(self) && reals(target) &&
      (target.dim() == 0 || either(at::kLong) || either(at::kDouble))) {
    count_host_operator(kCopy);
    return;
  }
  const std::string reason = c10::str("a copy from ", self.scalar_type(), " to ",
                                      target.scalar_type(), " is not supported by a NeuronCore");
  check_fallback(kCopy, reason);
  count_fallback(kCopy, reason, {tensor_bytes(self).count + tensor_bytes(target).count});
}

/// A copy in a graph that involves the host: to the host only data that no run changes.
Tensor capture_copy(GraphCapture& capture, const Tensor& self, const Tensor& target,
                    bool non_blocking) {
  if (!on_device(target)) capture.check_known(self, "a copy to the host");
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
  torch::jit::Stack stack{target, self, non_blocking};
  capture.run_on_host(op, &stack, /*is_random=*/false);
  return target;
}

template <typename Source>
void widen(const std::byte* source, std::byte* target, int64_t count) {
  const auto* const from = reinterpret_cast<const Source*>(source);
  auto* const to = reinterpret_cast<int64_t*>(target);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int64_t>(from[i]);
}

/// Copies int32 or fp32 to int64 where both are dense device tensors, as operators do that have
/// found places; false for others. torch's copy of host tensors costs more than a kernel.
bool copy_as_indices(const Tensor& self, const Tensor& target) {
  const bool whole = self.scalar_type() == at::kInt;
  const bool fits = (whole || self.scalar_type() == at::kFloat) && !self.is_neg() &&
                    target.scalar_type() == at::kLong && self.sizes() == target.sizes() &&
                    self.is_contiguous() && target.is_contiguous();
  if (!fits || !on_device(self) || !on_device(target)) return false;
  materialize(target);
  std::byte* const to = backing(target);
  (whole ? widen<int32_t> : widen<float>)(backing(self), to, target.numel());
  note_write({to, to + tensor_bytes(target).count});
  return true;
}

Tensor copy_from(const Tensor& self, const Tensor& target, bool non_blocking) {
  check_place(self);
  check_place(target);
  check_pair(self, target);
  if (target.numel() > 0 && copies_on_device(self, target)) {
    translate_errors([&] { copy_on_device(self, target); });
    return target;
  }
  if (target.numel() == 0) return target;
  if (GraphCapture* const capture = GraphCapture::active()) {
    return capture_copy(*capture, self, target, non_blocking);
  }
  if (on_device(self) && self.device() == target.device()) note_host_copy(self, target);
  if (on_device(self) && !on_device(target)) check_values(*self.storage().unsafeGetStorageImpl());
  account(self, target, non_blocking);
  WrittenMemory::note(target);
  if (timing_only() && on_device(target)) return target;
  if (copy_as_indices(self, target)) return target;
  Tensor host_target = host_tensor(target);
  at::native::copy_(host_target, host_tensor(self, /*only_read=*/true), /*non_blocking=*/false);
  return target;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& target) {
  target.resize_(self.sizes());
  return copy_from(self, target, /*non_blocking=*/false);
}

at::Scalar local_scalar_dense(const Tensor& self) {
  if (GraphCapture* const capture = GraphCapture::active()) capture->check_known(self, "item()");
  check_values(*self.storage().unsafeGetStorageImpl());
  account_to_host(device_index(self), tensor_bytes(self));
  return at::native::_local_scalar_dense_cpu(host_tensor(self, /*only_read=*/true));
}

/// PyTorch's own kernel of the in-place form looks for a kernel of the device without asking
/// whether it has one.
Tensor& conj_physical_in_place(Tensor& self) {
  return self.is_complex() ? self.copy_(self.conj_physical()) : self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("conj_physical_", conj_physical_in_place);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
}

// Materialising a conjugate or negative view is itself a copy, which would materialise its source
// and so recurse forever; copy_from honours both bits instead.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace neuron_sim
