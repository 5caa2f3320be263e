// Running sums, products, maxima, minima and logarithms of sums.
// Algorithm of the last three: elements combine with their neighbours at distances 1, 2, 4, ...

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/launch/kernel_call.h"
#include "ops/rows/running.h"

namespace neuron_sim {
namespace {

using at::Tensor;

template <AluOp op>
Tensor& running_out(const Tensor& self, int64_t dimension, std::optional<at::ScalarType> /*dtype*/,
                    Tensor& out) {
  check_computable(self.scalar_type());
  if (out.scalar_type() == at::kBool) throw Refusal{"torch has no running sum or product of bool"};
  at::native::resize_output(out, self.sizes());
  if (self.numel() == 0) return out;
  if (self.dim() == 0) return out.copy_(self);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  if (!out.is_floating_point()) {
    if (op != AluOp::kAdd) throw Refusal{"the engines multiply integers in fp32"};
    return out.copy_(exact_running_sums(self, at));
  }
  check_computable(out.scalar_type());
  KernelCall call("running", self.device());
  const Tensor moved = self.movedim(at, -1), target = out.movedim(at, -1);
  call.operand(moved, moved.sizes(), moved.strides()).result(target);
  call.launch(RunningOptions{op}, emit_running);
  return out;
}

/// The last `rest` elements of the last dimension replaced.
Tensor with_tail(const Tensor& values, const Tensor& tail) {
  return at::cat({values.narrow(-1, 0, values.size(-1) - tail.size(-1)), tail}, -1);
}

/// The last one of equal elements, and of NaN.
template <bool largest>
void running_extremum(const Tensor& self, Tensor& values, Tensor& indices, int64_t dimension) {
  check_extremum(self);
  if (self.dim() == 0 || self.numel() == 0) throw Refusal{"there are no rows"};
  const c10::DeviceGuard guard(self.device());
  Tensor found = self.movedim(dimension, -1).contiguous();
  const int64_t length = found.size(-1);
  Tensor place = at::arange(length, at::TensorOptions().dtype(at::kInt))
                     .to(self.device())
                     .expand(found.sizes());
  for (int64_t step = 1; step < length; step *= 2) {
    const int64_t rest = length - step;
    const Tensor later = found.narrow(-1, step, rest), before = found.narrow(-1, 0, rest);
    const Tensor wins = largest ? later.ge(before) : later.le(before);
    const Tensor kept = wins.logical_or(later.isnan());
    const Tensor places = at::where(kept, place.narrow(-1, step, rest), place.narrow(-1, 0, rest));
    found = with_tail(found, at::where(kept, later, before));
    place = with_tail(place, places);
  }
  values.copy_(found.movedim(-1, dimension));
  indices.copy_(place.movedim(-1, dimension));
}

Tensor running_logarithm(const Tensor& self, int64_t dimension) {
  check_floating(self);
  at::maybe_wrap_dim(dimension, self.dim());  // IndexError
  if (self.dim() == 0 || self.numel() == 0) return self.clone();
  const c10::DeviceGuard guard(self.device());
  Tensor sums = self.to(at::kFloat).movedim(dimension, -1).contiguous();
  const int64_t length = sums.size(-1);
  for (int64_t step = 1; step < length; step *= 2) {
    const int64_t rest = length - step;
    sums = with_tail(sums, at::logaddexp(sums.narrow(-1, step, rest), sums.narrow(-1, 0, rest)));
  }
  return sums.movedim(-1, dimension).contiguous().to(self.scalar_type());
}

Tensor& running_logarithm_out(const Tensor& self, int64_t dimension, Tensor& out) {
  at::native::resize_output(out, self.sizes());
  return out.copy_(running_logarithm(self, dimension));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cumsum.out", device_operator<running_out<AluOp::kAdd>>());
  m.impl("cumprod.out", device_operator<running_out<AluOp::kMultiply>>());
  m.impl("_cummax_helper", device_operator<running_extremum<true>>());
  m.impl("_cummin_helper", device_operator<running_extremum<false>>());
  m.impl("_logcumsumexp", device_operator<running_logarithm>());
  m.impl("_logcumsumexp.out", device_operator<running_logarithm_out>());
}

}  // namespace neuron_sim
