// The gradient of distances of all pairs, and losses that keep scores a margin apart.

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"

namespace neuron_sim {
namespace {

using at::Scalar;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// For the first rows. The slope of a norm of order p: sign(d) |d|^(p - 1) / norm^(p - 1).
Tensor distances_backward(const Tensor& gradient, const Tensor& first, const Tensor& second,
                          double order, const Tensor& distances) {
  check_floating(first);
  const c10::DeviceGuard guard(first.device());
  const Tensor difference = first.unsqueeze(-2) - second.unsqueeze(-3);
  const Tensor norm = distances.unsqueeze(-1), incoming = gradient.unsqueeze(-1);
  const Tensor zero = at::zeros_like(difference);
  if (order == 0) return at::zeros_like(first);
  Tensor slope;
  if (order == 1) {
    slope = at::sign(difference) * incoming;
  } else if (std::isinf(order)) {
    slope = at::where(difference.abs().eq(norm), at::sign(difference) * incoming, zero);
  } else if (order == 2) {
    slope = at::where(norm.eq(0), zero, difference * (incoming / norm));
  } else {
    const Tensor power = at::sign(difference) * difference.abs().pow(order - 1);
    const Tensor scaled = power * (incoming / norm.pow(order - 1));
    slope = at::where(norm.eq(0).logical_or(difference.eq(0)), zero, scaled);
  }
  return slope.sum(-2);
}

/// Scores [N, C], violated margins, targets, and the weight of each sample.
struct Margins {
  Tensor scores, violated, target, weight;
  int64_t classes;
};

/// max(0, margin - x[y] + x[i]) for i other than y, in fp32.
Margins margins_of(const Tensor& self, const Tensor& target, const Scalar& order,
                   const Scalar& margin, const OptionalTensor& weight) {
  check_floating(self);
  const int64_t power = order.toLong();
  TORCH_CHECK(power == 1 || power == 2, "only p == 1 and p == 2 supported");
  if (self.dim() == 0) throw Refusal{"the scores have no dimensions"};
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2,
              "Expected non-empty vector or matrix, but got: ", self.sizes());
  if (self.numel() == 0) throw Refusal{"there are no elements"};
  TORCH_CHECK(target.scalar_type() == at::kLong, "expected scalar type Long but found ",
              target.scalar_type());
  Margins result;
  result.scores = (self.dim() == 1 ? self.unsqueeze(0) : self).to(at::kFloat);
  result.target = target.reshape({-1, 1});
  result.classes = result.scores.size(1);
  check_bounds(result.target, {result.classes, OutOfBounds::kClass});
  const Tensor right = result.scores.gather(1, result.target);
  result.violated =
      (result.scores - right + margin.toDouble()).clamp_min(0).scatter(1, result.target, 0.0);
  if (weight && weight->defined()) {
    result.weight = weight->to(at::kFloat).index_select(0, result.target.view(-1)).view({-1, 1});
  }
  return result;
}

Tensor& margin_loss_out(const Tensor& self, const Tensor& target, const Scalar& order,
                        const Scalar& margin, const OptionalTensor& weight, int64_t reduction,
                        Tensor& out) {
  const c10::DeviceGuard guard(self.device());
  const Margins margins = margins_of(self, target, order, margin, weight);
  Tensor loss = order.toLong() == 2 ? margins.violated * margins.violated : margins.violated;
  if (margins.weight.defined()) loss = loss * margins.weight;
  loss = loss.sum(1) * (1.0 / static_cast<double>(margins.classes));
  if (reduction == at::Reduction::Mean) loss = loss.mean();
  if (reduction == at::Reduction::Sum) loss = loss.sum();
  if (reduction == at::Reduction::None && self.dim() == 1) loss = loss.view(at::IntArrayRef{});
  at::native::resize_output(out, loss.sizes());
  return out.copy_(loss);
}

Tensor margin_loss(const Tensor& self, const Tensor& target, const Scalar& order,
                   const Scalar& margin, const OptionalTensor& weight, int64_t reduction) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::zeros_like(self);
  out.resize_({0});
  return margin_loss_out(self, target, order, margin, weight, reduction, out);
}

Tensor margin_loss_backward(const Tensor& gradient, const Tensor& self, const Tensor& target,
                            const Scalar& order, const Scalar& margin, const OptionalTensor& weight,
                            int64_t reduction) {
  const c10::DeviceGuard guard(self.device());
  const Margins margins = margins_of(self, target, order, margin, weight);
  const double share =
      (reduction == at::Reduction::Mean ? 1.0 / static_cast<double>(margins.scores.size(0)) : 1.0) /
      static_cast<double>(margins.classes);
  Tensor slope = order.toLong() == 2 ? margins.violated * (2 * share)
                                     : margins.violated.gt(0).to(at::kFloat) * share;
  if (margins.weight.defined()) slope = slope * margins.weight;
  slope = slope.scatter_add(1, margins.target, slope.sum(1, true) * -1.0);
  return (slope * gradient.to(at::kFloat).reshape({-1, 1}))
      .view(self.sizes())
      .to(self.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_cdist_backward", device_operator<distances_backward>());
  m.impl("multi_margin_loss", device_operator<margin_loss>());
  m.impl("multi_margin_loss.out", device_operator<margin_loss_out>());
  m.impl("multi_margin_loss_backward", device_operator<margin_loss_backward>());
}

}  // namespace neuron_sim
