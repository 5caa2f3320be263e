// Losses that torch has no composition for: of pointwise differences and of class indices.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/FunctionRef.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/dispatch/host_step.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/tensor_access.h"
#include "device/runtime/timing_only.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void check_loss(const Tensor& self) {
  check_computable(self.scalar_type());
  if (!self.is_floating_point()) throw Refusal{"a loss is of floating dtypes"};
}

Tensor& reduced(const Tensor& loss, int64_t reduction, Tensor& out) {
  if (reduction == at::Reduction::None) {
    at::native::resize_output(out, loss.sizes());
    return out.copy_(loss);
  }
  at::native::resize_output(out, {});
  return out.copy_(reduction == at::Reduction::Mean ? loss.mean() : loss.sum());
}

/// self - target; a target of bool counts as numbers here, though torch subtracts no bool.
Tensor difference_of(const Tensor& self, const Tensor& target) {
  return self - (target.scalar_type() == at::kBool ? target.to(self.scalar_type()) : target);
}

Tensor& mse_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  check_loss(self);
  const Tensor difference = difference_of(self, target);
  return reduced(difference * difference, reduction, out);
}

/// smooth(), an operator after the other.
Tensor composed_smooth(const Tensor& self, const Tensor& target, double beta) {
  const Tensor distance = at::abs(difference_of(self, target));
  if (beta == 0) return distance;
  return at::where(distance < beta, distance * distance * (0.5 / beta), distance - 0.5 * beta);
}

/// An expression of two tensors that are broadcast to one shape, in one launch; undefined where
/// rounding to a narrow dtype between operators, as torch has it, would be lost.
Tensor in_one_launch(const Tensor& a, const Tensor& b,
                     c10::function_ref<ElementValue(ElementValue, ElementValue)> function) {
  const bool wide = a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat;
  if (!wide || !on_device(a) || a.device() != b.device()) return {};
  const Expression expression =
      make_expression([&](Expression& e) { return function(e.input(0), e.input(1)); });
  const Tensor result = at::empty(at::infer_size_dimvector(a.sizes(), b.sizes()), a.options());
  if (result.numel() > 0) run_pointwise(expression, {a, b}, result);
  return result;
}

/// x^2 / (2 beta) below beta, x - beta / 2 above; times `factor`.
Tensor smooth(const Tensor& self, const Tensor& target, double beta, double factor) {
  const auto elements = [&](ElementValue a, ElementValue b) {
    const ElementValue distance = absolute(a - b);
    const ElementValue value =
        beta == 0 ? distance
                  : select(compare(AluOp::kLess, distance, beta),
                           distance * distance * (0.5 / beta), distance - 0.5 * beta);
    return factor == 1 ? value : value * factor;
  };
  if (Tensor loss = in_one_launch(self, target, elements); loss.defined()) return loss;
  const Tensor loss = composed_smooth(self, target, beta);
  return factor == 1 ? loss : loss * factor;
}

Tensor& smooth_l1_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, double beta,
                           Tensor& out) {
  check_loss(self);
  return reduced(smooth(self, target, beta, 1), reduction, out);
}

Tensor& huber_loss_out(const Tensor& self, const Tensor& target, int64_t reduction, double delta,
                       Tensor& out) {
  check_loss(self);
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  return reduced(smooth(self, target, delta, delta), reduction, out);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return huber_loss_out(self, target, reduction, delta, out);
}

void check_probabilities_step(const Tensor& tensor, c10::string_view name) {
  const Tensor host = host_tensor(tensor, /*only_read=*/true);
  TORCH_CHECK(host.ge(0).logical_and_(host.le(1)).all().item<bool>(), "all elements of ", name,
              " should be between 0 and 1");
}

/// RuntimeError unless all elements are probabilities; NaN is not.
void check_probabilities(const Tensor& tensor, const char* name) {
  if (!on_device(tensor) || timing_only()) return;
  run_host_step("neuron_sim_host::check_probabilities", check_probabilities_step, tensor, name);
}

/// Logarithms are at least -100, as in torch.
Tensor& binary_cross_entropy_out(const Tensor& self, const Tensor& target,
                                 const OptionalTensor& weight, int64_t reduction, Tensor& out) {
  check_loss(self);
  TORCH_CHECK(self.scalar_type() == target.scalar_type(), "Found dtype ", target.scalar_type(),
              " but expected ", self.scalar_type());
  check_probabilities(self, "input");
  check_probabilities(target, "target");
  Tensor loss = in_one_launch(self, target, [](ElementValue x, ElementValue y) {
    const auto logarithm = [](ElementValue value) {
      return maximum(value.expression().constant(-100), call(Activation::kLog, value));
    };
    return (y - 1.0) * logarithm(1.0 - x) - y * logarithm(x);
  });
  if (!loss.defined()) {
    const Tensor hit = at::log(self).clamp_min(-100), miss = at::log(1 - self).clamp_min(-100);
    loss = (target - 1) * miss - target * hit;
  }
  if (weight && weight->defined()) loss = loss * *weight;
  return reduced(loss, reduction, out);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const OptionalTensor& weight,
                            int64_t reduction) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return binary_cross_entropy_out(self, target, weight, reduction, out);
}

Tensor binary_cross_entropy_backward(const Tensor& gradient, const Tensor& self,
                                     const Tensor& target, const OptionalTensor& weight,
                                     int64_t reduction) {
  check_loss(self);
  Tensor result = gradient * (self - target) / ((1 - self) * self).clamp_min(1e-12);
  if (weight && weight->defined()) result = result * *weight;
  if (reduction == at::Reduction::Mean) result = result / static_cast<double>(self.numel());
  return result;
}

/// log(sigmoid(x)) = -softplus(-x); the CPU's buffer is not needed.
std::tuple<Tensor, Tensor> log_sigmoid_and_buffer(const Tensor& self) {
  check_loss(self);
  return {-at::softplus(-self, 1, 1e30), at::empty({0}, self.options())};
}

std::tuple<Tensor&, Tensor&> log_sigmoid_out(const Tensor& self, Tensor& out, Tensor& buffer) {
  const auto [result, nothing] = log_sigmoid_and_buffer(self);
  at::native::resize_output(buffer, nothing.sizes());
  give_result(result, out);
  return std::tie(out, buffer);
}

/// The contribution of a class index: its weight, or 0 where it is ignored. [N] or [N, d...].
struct Targets {
  Tensor indices;  ///< with the class dimension, ignored ones 0
  Tensor weights;
};

/// Below nn.functional: images may differ in size from their targets.
void check_targets(const Tensor& self, const Tensor& target, const OptionalTensor& weight,
                   int64_t class_dimension) {
  TORCH_CHECK(class_dimension >= 0 && class_dimension < self.dim(), "nll_loss: an input of ",
              self.dim(), " dimensions has no dimension of classes");
  at::DimVector sizes(self.sizes());
  sizes.erase(sizes.begin() + class_dimension);
  TORCH_CHECK(target.sizes() == at::IntArrayRef(sizes), "size mismatch (got input: ", self.sizes(),
              " , target: ", target.sizes());
  if (!weight || !weight->defined()) return;
  TORCH_CHECK(weight->dim() == 1 && weight->numel() == self.size(class_dimension),
              "weight tensor should be defined either for all or no classes");
  TORCH_CHECK(weight->scalar_type() == self.scalar_type(), "expected scalar type ",
              self.scalar_type(), " but found ", weight->scalar_type());
}

Targets targets_of(const Tensor& self, const Tensor& target, const OptionalTensor& weight,
                   int64_t ignored, int64_t class_dimension) {
  check_targets(self, target, weight, class_dimension);
  if (target.scalar_type() != at::kLong) throw Refusal{"targets are not int64"};
  const Tensor used = target.ne(ignored);
  const Tensor safe = at::where(used, target, at::zeros_like(target));
  check_bounds(safe, {self.size(class_dimension), OutOfBounds::kTarget});
  Tensor weights = used.to(self.scalar_type());
  if (weight && weight->defined()) {
    weights = weights * weight->index_select(0, safe.reshape(-1)).view(safe.sizes());
  }
  return {safe.unsqueeze(class_dimension), weights};
}

std::tuple<Tensor&, Tensor&> nll(const Tensor& self, const Tensor& target,
                                 const OptionalTensor& weight, int64_t reduction, int64_t ignored,
                                 int64_t class_dimension, Tensor& out, Tensor& total) {
  check_loss(self);
  const Targets targets = targets_of(self, target, weight, ignored, class_dimension);
  const Tensor chosen = at::gather(self, class_dimension, targets.indices).squeeze(class_dimension);
  const Tensor loss = at::empty(chosen.sizes(), chosen.options());
  run_pointwise(make_expression([](Expression& e) { return -e.input(0) * e.input(1); }),
                {chosen, targets.weights}, {loss});
  total.copy_(targets.weights.sum());
  if (reduction == at::Reduction::None) {
    at::native::resize_output(out, loss.sizes());
    out.copy_(loss);
  } else {
    out.copy_(reduction == at::Reduction::Mean ? loss.sum() / total : loss.sum());
  }
  return std::tie(out, total);
}

std::tuple<Tensor&, Tensor&> nll_loss_forward_out(const Tensor& self, const Tensor& target,
                                                  const OptionalTensor& weight, int64_t reduction,
                                                  c10::SymInt ignored, Tensor& out, Tensor& total) {
  return nll(self, target, weight, reduction, ignored.expect_int(), self.dim() - 1, out, total);
}

std::tuple<Tensor, Tensor> nll_loss2d_forward(const Tensor& self, const Tensor& target,
                                              const OptionalTensor& weight, int64_t reduction,
                                              c10::SymInt ignored) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({}, self.options()), total = at::empty({}, self.options());
  if (reduction == at::Reduction::None) out.resize_(target.sizes());
  nll(self, target, weight, reduction, ignored.expect_int(), 1, out, total);
  return {out, total};
}

Tensor nll_backward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                    const OptionalTensor& weight, int64_t reduction, int64_t ignored,
                    const Tensor& total, int64_t class_dimension) {
  check_loss(self);
  const Targets targets = targets_of(self, target, weight, ignored, class_dimension);
  Tensor share = -targets.weights * gradient;
  if (reduction == at::Reduction::Mean) share = share / total;
  return at::scatter(at::zeros_like(self), class_dimension, targets.indices,
                     share.unsqueeze(class_dimension));
}

Tensor& nll_loss_backward_out(const Tensor& gradient, const Tensor& self, const Tensor& target,
                              const OptionalTensor& weight, int64_t reduction, c10::SymInt ignored,
                              const Tensor& total, Tensor& out) {
  return out.copy_(nll_backward(gradient, self, target, weight, reduction, ignored.expect_int(),
                                total, self.dim() - 1));
}

Tensor nll_loss2d_backward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                           const OptionalTensor& weight, int64_t reduction, c10::SymInt ignored,
                           const Tensor& total) {
  return nll_backward(gradient, self, target, weight, reduction, ignored.expect_int(), total, 1);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(neuron_sim_host, m) {
  m.def("check_probabilities(Tensor values, str name) -> ()");
}
TORCH_LIBRARY_IMPL(neuron_sim_host, PrivateUse1, m) {
  m.impl("check_probabilities", check_probabilities_step);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mse_loss.out", device_operator<mse_loss_out>());
  m.impl("smooth_l1_loss.out", device_operator<smooth_l1_loss_out>());
  m.impl("huber_loss", device_operator<huber_loss>());
  m.impl("huber_loss.out", device_operator<huber_loss_out>());
  m.impl("binary_cross_entropy", device_operator<binary_cross_entropy>());
  m.impl("binary_cross_entropy.out", device_operator<binary_cross_entropy_out>());
  m.impl("binary_cross_entropy_backward", device_operator<binary_cross_entropy_backward>());
  m.impl("log_sigmoid_forward", device_operator<log_sigmoid_and_buffer>());
  m.impl("log_sigmoid_forward.output", device_operator<log_sigmoid_out>());
  m.impl("nll_loss_forward.output", device_operator<nll_loss_forward_out>());
  m.impl("nll_loss_backward.grad_input", device_operator<nll_loss_backward_out>());
  m.impl("nll_loss2d_forward", device_operator<nll_loss2d_forward>());
  m.impl("nll_loss2d_backward", device_operator<nll_loss2d_backward>());
}

}  // namespace neuron_sim
