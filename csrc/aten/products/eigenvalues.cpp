// Eigenvalues, which the host computes after a check.

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

/// The CPU kernel passes matrices unchecked to LAPACK, which crashes on values that are not
/// finite; linalg_eig checks them.
at::Tensor eigenvalues(const at::Tensor& self) {
  TORCH_CHECK(self.isfinite().all().item<bool>(),
              "torch.linalg.eigvals: input tensor should not contain infs or NaNs.");
  throw Refusal{"eigenvalues are computed on the host"};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_linalg_eigvals", device_operator<eigenvalues>());
}

}  // namespace neuron_sim
