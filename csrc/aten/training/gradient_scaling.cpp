// torch.amp.GradScaler on gradients: finds numbers that are not finite and divides out the scale.
// The scale itself is a host-side number (index_arithmetic.h).

#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

using at::Tensor;

void check_gradient(const Tensor& gradient, const Tensor& inverse_scale) {
  check_computable(gradient.scalar_type());
  if (!gradient.is_floating_point()) throw Refusal{"gradients have floating dtypes"};
  if (gradient.is_neg() || gradient.is_conj()) throw Refusal{"a gradient is a lazy negation"};
  TORCH_CHECK(gradient.device() == inverse_scale.device(),
              "_amp_foreach_non_finite_check_and_unscale_: a gradient is on ", gradient.device(),
              ", the scale on ", inverse_scale.device());
}

/// 1 in `flag` if any number is infinite or NaN, else 0: x - x is 0 for finite ones only.
void find_non_finite(const Tensor& gradient, Tensor flag) {
  Expression differs;
  const ElementValue x = differs.input(0);
  differs.add_result(compare(AluOp::kNotEqual, x - x, 0));
  const std::vector<bool> all(static_cast<size_t>(gradient.dim()), true);
  reduce_into(flag, gradient, {.op = AluOp::kMaximum, .prologue = differs, .reduced = all});
}

/// gradients *= inverse_scale; found = 1 if any of their numbers was not finite, else unchanged.
void check_and_unscale(at::TensorList gradients, const Tensor& found, const Tensor& inverse_scale) {
  TORCH_CHECK(
      found.numel() == 1 && inverse_scale.numel() == 1,
      "_amp_foreach_non_finite_check_and_unscale_: found_inf and inv_scale have one element");
  c10::SmallVector<Tensor, 8> filled;
  for (const Tensor& gradient : gradients) {
    check_gradient(gradient, inverse_scale);
    if (gradient.numel() > 0) filled.push_back(gradient);
  }
  if (filled.empty()) return;
  const c10::DeviceGuard guard(found.device());
  const Tensor flags = at::empty({static_cast<int64_t>(filled.size())}, found.options());
  for (size_t i = 0; i < filled.size(); ++i) {
    find_non_finite(filled[i], flags.select(0, static_cast<int64_t>(i)));
  }
  found.copy_(at::maximum(found, at::amax(flags).view(found.sizes())));
  for (const Tensor& gradient : filled) gradient.mul_(inverse_scale.view(at::IntArrayRef{}));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_amp_foreach_non_finite_check_and_unscale_", device_operator<check_and_unscale>());
}

}  // namespace neuron_sim
