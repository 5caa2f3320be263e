// Which elements are among others.

#include <ATen/TensorOperators.h>
#include <ATen/ops/eq.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Whether each element equals one of `others`: all pairs are compared.
Tensor& isin_out(const Tensor& self, const Tensor& others, bool /*unique*/, bool invert,
                 Tensor& out) {
  check_computable(self.scalar_type());
  if (others.numel() == 0 || self.numel() == 0) throw Refusal{"there are no elements"};
  const Tensor equal = at::eq(self.unsqueeze(-1), others.reshape(-1)).any(-1);
  return give_result(invert ? equal.logical_not() : equal, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("isin.Tensor_Tensor_out", device_operator<isin_out>());
}

}  // namespace neuron_sim
