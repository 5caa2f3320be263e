#pragma once
// Functional forms of structured operators that go straight to their kernel. torch derives such a
// form from the out= one: an output pass, then a second dispatch. That costs small operators more
// than their arithmetic, and serves arguments that need checks, conversions or the host.

#include <ATen/core/Tensor.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/launch_origin.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {

/// Whether the tensor has elements in a floating dtype that the chip computes in, on a device.
inline bool is_plain(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return (type == at::kFloat || type == at::kHalf || type == at::kBFloat16) && on_device(tensor) &&
         tensor.numel() > 0 && !tensor.is_neg();
}

/// Whether both are plain and nothing needs to be brought together.
inline bool are_plain(const at::Tensor& a, const at::Tensor& b) {
  return is_plain(a) && is_plain(b) && a.scalar_type() == b.scalar_type() &&
         a.device() == b.device();
}

/// launched(), which makes and computes the result, if the arguments are `plain`, nothing records
/// or captures the call and the chip takes it. Else torchs(), the form that torch derives.
template <typename Launched, typename Torchs>
at::Tensor run_plain(bool plain, Launched launched, Torchs torchs) {
  if (!plain || follows_operators() || !runs_at_once()) return torchs();
  try {
    return launched();
  } catch (const Refusal&) {
    return torchs();  // says why, or computes on the host
  } catch (const KernelError&) {
    return torchs();
  } catch (const std::bad_alloc&) {
    return torchs();
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  }
}

}  // namespace neuron_sim
