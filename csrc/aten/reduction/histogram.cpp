// histc: the number of elements in each of equal bins, counted by adding ones to the bins.

#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;

constexpr int64_t kExact = 16777216;  // fp32 counts exactly up to this

/// The bin of each element, `bins` for those outside the limits.
Tensor bins_of(const Tensor& values, int64_t bins, double low, double high) {
  const double width = (high - low) / static_cast<double>(bins);
  const Tensor place = ((values - low) / width).floor().clamp(0, static_cast<double>(bins - 1));
  const Tensor inside = values.ge(low).logical_and(values.le(high));
  return at::where(inside, place, at::full({}, static_cast<double>(bins), place.options()));
}

Tensor& histogram_out(const Tensor& self, int64_t bins, const Scalar& low, const Scalar& high,
                      Tensor& out) {
  check_computable(self.scalar_type());
  TORCH_CHECK(bins > 0, "bins must be > 0");
  if (self.numel() >= kExact) throw Refusal{"fp32 does not count so far"};
  const c10::DeviceGuard guard(self.device());
  const Tensor values = self.reshape(-1).to(at::kFloat);
  double first = low.toDouble(), last = high.toDouble();
  if (first == last && values.numel() > 0) {
    first = values.min().item<double>();
    last = values.max().item<double>();
  }
  if (first == last) {
    first -= 1;
    last += 1;
  }
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last), "range of [", first, ", ", last,
              "] is not finite");
  TORCH_CHECK(first < last, "max must be larger than min");
  Tensor counts = at::zeros({bins + 1}, values.options());
  if (values.numel() > 0) {
    counts =
        counts.index_add(0, bins_of(values, bins, first, last).to(at::kInt), at::ones_like(values));
  }
  return give_result(counts.narrow(0, 0, bins).to(self.scalar_type()), out);
}

Tensor histogram(const Tensor& self, int64_t bins, const Scalar& low, const Scalar& high) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return histogram_out(self, bins, low, high, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("histc", device_operator<histogram>());
  m.impl("histc.out", device_operator<histogram_out>());
}

}  // namespace neuron_sim
