// Medians, and the most frequent elements.

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/mode.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// The lower one of the two in the middle; NaN where the row has one.
std::tuple<Tensor&, Tensor&> median_out(const Tensor& self, int64_t dimension, bool keep,
                                        Tensor& values, Tensor& indices) {
  check_extremum(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor rows = self.dim() == 0 ? self.view(1) : self;
  const int64_t at = at::maybe_wrap_dim(dimension, rows.dim());
  TORCH_CHECK_INDEX(rows.size(at) > 0, "median(): Expected reduction dim ", dimension,
                    " to have non-zero size.");
  const bool kept = keep && self.dim() > 0;
  auto [middle, place] = rows.kthvalue((rows.size(at) + 1) / 2, at, kept);
  if (self.is_floating_point()) {
    const Tensor nan = rows.isnan();
    const Tensor any = nan.any(at, kept);
    middle = middle.masked_fill(any, std::numeric_limits<double>::quiet_NaN());
    place = at::where(any, nan.to(at::kFloat).argmax(at, kept), place);
  }
  const bool scalar = self.dim() == 0;
  const Tensor value = scalar ? middle.reshape({}) : middle;
  at::native::resize_output(values, value.sizes());
  at::native::resize_output(indices, value.sizes());
  values.copy_(value);
  indices.copy_(scalar ? place.reshape({}) : place);
  return std::tie(values, indices);
}

Tensor median(const Tensor& self) {
  check_extremum(self);
  if (self.numel() == 0) throw Refusal{"there are no elements"};
  return std::get<0>(self.reshape(-1).median(0));
}

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

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("median", device_operator<median>());
  m.impl("median.dim_values", device_operator<median_out>());
  m.impl("mode.values", mode_out);
}

}  // namespace neuron_sim
