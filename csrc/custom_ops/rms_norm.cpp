#include "ops/rows/rms_norm.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// 1 / sqrt(mean(x^2) + eps) of each row, in fp32.
Tensor inverse_norm(const Tensor& x, double eps) {
  return (x.to(at::kFloat).square().mean(-1, /*keepdim=*/true) + eps).rsqrt();
}

struct RmsNorm {
  static constexpr const char* kSchema =
      "rms_norm(Tensor x, Tensor weight, *, float eps=1e-06) -> Tensor";
  static constexpr auto& kKernel = kRmsNorm;
  using Call = Invocation<RmsNormOptions>;

  static Call prepare(const Tensor& x, const Tensor& weight, double eps) {
    constexpr const char* kOp = "rms_norm";
    check_same_device(kOp, {{"x", x}, {"weight", weight}});
    check_same_dtype(kOp, {{"x", x}, {"weight", weight}});
    check_float(kOp, {"x", x});
    check_last_dimension(kOp, {"x", x});
    check_rank(kOp, {"weight", weight}, 1);
    check_size(kOp, {"weight", weight}, 0, x.sym_size(-1), "the last dimension of x");
    return {{x, weight}, {eps}, Sizes(x.sym_sizes()), x.scalar_type()};
  }

  static void reference(const Call& call, const Tensor& out) {
    const Tensor &x = call.operands[0], &weight = call.operands[1];
    out.copy_(x.to(at::kFloat) * inverse_norm(x, call.options.eps) * weight.to(at::kFloat));
  }

  static variable_list gradients(const Gradient& gradient, const Tensor& x, const Tensor& weight,
                                 double eps) {
    const Tensor outer = gradient.of_result.to(at::kFloat), inverse = inverse_norm(x, eps);
    const Tensor normal = x.to(at::kFloat) * inverse;
    const auto of_x = [&] {
      const Tensor inner = outer * weight.to(at::kFloat);
      const Tensor along = normal * (inner * normal).mean(-1, /*keepdim=*/true);
      return ((inner - along) * inverse).to(x.scalar_type());
    };
    const auto of_weight = [&] {
      return at::sum_to(outer * normal, weight.sym_sizes()).to(x.scalar_type());
    };
    return {gradient.where_wanted(0, of_x), gradient.where_wanted(1, of_weight)};
  }
};
const CustomOp<RmsNorm> kRmsNormOp;

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return kRmsNormOp.call(x, weight, eps);
}

}  // namespace neuron_sim
