// Running sums, products, extrema with their places, and logarithms of sums of exponentials.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/aten/shared/running_values.h"

namespace neuron_sim {
namespace {

using at::Tensor;

template <AluOp op>
Tensor& running_out(const Tensor& self, int64_t dimension, std::optional<at::ScalarType> /*dtype*/,
                    Tensor& out) {
  const bool narrows = self.scalar_type() == at::kLong;
  check_computable(narrows ? out.scalar_type() : self.scalar_type());
  if (out.scalar_type() == at::kBool) throw Refusal{"torch has no running sum or product of bool"};
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) return out;
  if (self.dim() == 0) return out.copy_(self);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  if (narrows) {
    return running_out<op>(self.to(out.scalar_type()), at, std::nullopt, out);
  }
  if (!out.is_floating_point()) {
    if (op != AluOp::kAdd) throw Refusal{"the engines multiply integers in fp32"};
    return out.copy_(exact_running_sums(self, at));
  }
  check_computable(out.scalar_type());
  launch_running(op, {self}, at, out);
  return out;
}

/// The place of an extremum is the last one of those that equal it; that of a NaN, of the last NaN.
template <AluOp op>
void running_place(const Tensor& self, Tensor& values, Tensor& indices, int64_t dimension) {
  const c10::DeviceGuard guard(self.device());
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  const bool direct = values.is_contiguous() && values.sizes() == self.sizes() &&
                      values.scalar_type() == self.scalar_type() && !values.is_alias_of(self);
  const Tensor extrema = direct ? values : at::empty(self.sizes(), self.options());
  check_extremum(self);
  launch_running(op, {self}, at, extrema);
  const Tensor places = at::empty(self.sizes(), self.options().dtype(at::kFloat));
  static const FormedExpression place_if_new = make_formed([](Expression& e) {
    const ElementValue x = e.input(0);
    const ElementValue is_new = e.alu(AluOp::kLogicalOr, compare(AluOp::kEqual, x, e.input(1)),
                                      compare(AluOp::kNotEqual, x, x));
    return select(is_new, e.input(2), e.constant(0));
  });
  run_pointwise(place_if_new, {self, extrema, places_along(self, at)}, places);
  if (!direct) values.copy_(extrema);
  indices.copy_(running_extremum(AluOp::kMaximum, places, at));
}

/// log of the running sums of e^x = m + log s, with the running maximum m and the recurrence
/// s_i = s_(i-1) e^(m_(i-1) - m_i) + e^(x_i - m_i). Between finite limits of m no infinity meets
/// another one.
Tensor running_logarithm(const Tensor& self, int64_t dimension) {
  check_floating(self);
  const c10::DeviceGuard guard(self.device());
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  if (self.numel() == 0 || self.dim() == 0) return self.clone();
  constexpr double kLargest = std::numeric_limits<float>::max();
  const Tensor x = self.movedim(at, -1).to(at::kFloat);
  const int64_t last = x.dim() - 1, length = x.size(last);
  const Tensor m = running_extremum(AluOp::kMaximum, x, last).clamp_(-kLargest, kLargest);
  const Expression exponential = make_expression(
      [](Expression& e) { return call(Activation::kExp, e.input(0) - e.input(1)); });
  const Tensor decay = at::zeros(x.sizes(), x.options()), power = at::empty_like(decay),
               sums = at::empty_like(decay), result = at::empty_like(self);
  if (length > 1) {
    run_pointwise(exponential, {m.narrow(last, 0, length - 1), m.narrow(last, 1, length - 1)},
                  {decay.narrow(last, 1, length - 1)});
  }
  run_pointwise(exponential, {x, m}, {power});
  launch_running(AluOp::kAdd, {power, decay}, last, sums);
  run_pointwise(make_expression(
                    [](Expression& e) { return call(Activation::kLog, e.input(0)) + e.input(1); }),
                {sums, m}, {result.movedim(at, last)});
  return result;
}

Tensor& running_logarithm_out(const Tensor& self, int64_t dimension, Tensor& out) {
  return give_result(running_logarithm(self, dimension), out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cumsum.out", device_operator<running_out<AluOp::kAdd>>());
  m.impl("cumprod.out", device_operator<running_out<AluOp::kMultiply>>());
  m.impl("_cummax_helper", device_operator<running_place<AluOp::kMaximum>>());
  m.impl("_cummin_helper", device_operator<running_place<AluOp::kMinimum>>());
  m.impl("_logcumsumexp", device_operator<running_logarithm>());
  m.impl("_logcumsumexp.out", device_operator<running_logarithm_out>());
}

}  // namespace neuron_sim
