// The most frequent elements.

#include <ATen/ops/mode.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// torch's kernel for this overload lists the devices that it accepts.
std::tuple<Tensor&, Tensor&> mode_out(const Tensor& self, int64_t dimension, bool keep,
                                      Tensor& values, Tensor& indices) {
  TORCH_CHECK(values.device() == self.device() && indices.device() == self.device(),
              "expected device '", self.device(), "' but got '", values.device(),
              "' for values output and '", indices.device(), "' for indices output");
  TORCH_CHECK(values.scalar_type() == self.scalar_type(), "expected scalar type '",
              self.scalar_type(), "' but got '", values.scalar_type(), "' for values output");
  TORCH_CHECK(indices.scalar_type() == at::kLong, "expected scalar type '", at::kLong,
              "' but got '", indices.scalar_type(), "' for indices output");
  const auto [found, places] = at::mode(self, dimension, keep);
  return {give_result(found, values), give_result(places, indices)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("mode.values", mode_out); }

}  // namespace neuron_sim
