// Variances and standard deviations, with the mean.

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/reduction/arguments.h"
#include "csrc/aten/shared/reductions.h"

namespace neuron_sim {
namespace {

using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;

/// torch's warning where a variance has no degrees of freedom.
void warn_without_freedom(const char* name, int64_t count, double correction) {
  if (static_cast<double>(count) - correction > 0) return;
  TORCH_WARN(name, "(): degrees of freedom is <= 0. Correction should be strictly less than the ",
             "reduction factor (input numel divided by output numel).");
}

/// Variance or its root, and the mean in fp32, from which deviations are taken.
std::tuple<Tensor, Tensor> moments(const char* name, const Tensor& self,
                                   OptionalIntArrayRef dimensions,
                                   const std::optional<Scalar>& correction, bool keep, bool root) {
  check_reduced_dtype(self);
  const c10::DeviceGuard guard(self.device());
  const std::vector<bool> reduced = reduced_flags(self, dimensions, true);
  const double without = correction.value_or(1).toDouble();
  warn_without_freedom(name, reduced_count(self, reduced), without);
  if (self.numel() == 0) {
    Tensor nothing = at::empty(reduced_shape(self, reduced, keep), self.options());
    fill_empty(nothing, std::nan(""));
    return {nothing, nothing.clone()};
  }
  const double count = static_cast<double>(reduced_count(self, reduced));
  const double divisor = std::max(0.0, count - without);
  const at::DimVector shape = reduced_shape(self, reduced, keep);
  Tensor variance = at::empty(shape, self.options());
  const Tensor exact =
      at::empty(reduced_shape(self, reduced, true), self.options().dtype(at::kFloat));
  Expression deviation;
  const ElementValue difference = deviation.input(0) - deviation.input(1);
  deviation.add_result(difference * difference);
  const Expression finish = expression_of([&](ElementValue sum) {
    const ElementValue result = sum / sum.expression().constant(divisor);
    return root ? call(Activation::kSqrt, result) : result;
  });
  Tensor target = exact;
  reduce_into(target, self,
              {.op = AluOp::kAdd, .epilogue = scaled_by(1.0 / count), .reduced = reduced});
  reduce_into(variance, {self, exact.expand_as(self)},
              {.op = AluOp::kAdd, .prologue = deviation, .epilogue = finish, .reduced = reduced});
  return {variance, exact.view(shape)};
}

template <bool root>
Tensor spread(const Tensor& self, OptionalIntArrayRef dimensions,
              const std::optional<Scalar>& correction, bool keep) {
  return std::get<0>(moments(root ? "std" : "var", self, dimensions, correction, keep, root));
}

template <bool root>
std::tuple<Tensor, Tensor> spread_and_mean(const Tensor& self, OptionalIntArrayRef dimensions,
                                           const std::optional<Scalar>& correction, bool keep) {
  const auto [variance, mean] =
      moments(root ? "std_mean" : "var_mean", self, dimensions, correction, keep, root);
  return {variance, mean.to(self.scalar_type())};
}

template <bool root>
Tensor& spread_out(const Tensor& self, OptionalIntArrayRef dimensions,
                   const std::optional<Scalar>& correction, bool keep, Tensor& out) {
  return give_result(spread<root>(self, dimensions, correction, keep), out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("var.correction", device_operator<spread<false>>());
  m.impl("std.correction", device_operator<spread<true>>());
  m.impl("var.correction_out", device_operator<spread_out<false>>());
  m.impl("std.correction_out", device_operator<spread_out<true>>());
  m.impl("var_mean.correction", device_operator<spread_and_mean<false>>());
  m.impl("std_mean.correction", device_operator<spread_and_mean<true>>());
}

}  // namespace neuron_sim
