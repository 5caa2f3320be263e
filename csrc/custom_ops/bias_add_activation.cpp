#include "csrc/custom_ops/bias_add_activation.h"

#include <ATen/TensorOperators.h>

#include <numeric>

#include "csrc/custom_ops/activation_functions.h"
#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/custom_op.h"
#include "csrc/neuron_sim.h"
#include "ops/blocks/epilogue.h"
#include "ops/reference/reference.h"
#include "ops/rows/bias_add_activation.h"
#include "ops/rows/bias_add_activation_backward.h"

namespace neuron_sim {
namespace {

using at::Tensor;

struct BiasAddActivation {
  static constexpr const char* kSchema =
      "bias_add_activation(Tensor x, Tensor bias, str activation) -> Tensor";
  static constexpr auto& kKernel = kBiasAddActivation;
  using Call = Invocation<BiasAddActivationOptions>;

  static Call prepare(const Tensor& x, const Tensor& bias, std::string_view activation) {
    constexpr const char* kOp = "bias_add_activation";
    check_same_device(kOp, {{"x", x}, {"bias", bias}});
    check_same_dtype(kOp, {{"x", x}, {"bias", bias}});
    check_float(kOp, {"x", x});
    check_last_dimension(kOp, {"x", x});
    check_rank(kOp, {"bias", bias}, 1);
    check_size(kOp, {"bias", bias}, 0, x.sym_size(-1), "the last dimension of x");
    parse_output_function(kOp, activation);
    return {{x, bias}, {std::string(activation)}, Sizes(x.sym_sizes()), x.scalar_type()};
  }

  static void reference(const Call& call, const Tensor& out) {
    const Tensor &x = call.operands[0], &bias = call.operands[1];
    const int64_t features = bias.size(0);
    reference::bias_add_activation(x.const_data_ptr(), bias.const_data_ptr(),
                                   out.mutable_data_ptr(), features == 0 ? 0 : x.numel() / features,
                                   features, call.options.activation, dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, const Tensor& x, const Tensor& bias,
                                 std::string_view activation) {
    const auto [of_x, of_bias] =
        bias_add_activation_gradients(gradient.of_result, x, bias, activation);
    return {of_x, of_bias};
  }
};
const CustomOp<BiasAddActivation> kBiasAddActivationCall;

using Gradients = std::tuple<Tensor, Tensor>;

void check_backward(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                    std::string_view activation) {
  translate_errors([&] {
    check_gradient("bias_add_activation_backward", {"gradient", gradient}, {"x", x},
                   BiasAddActivation::prepare(x, bias, activation).sizes);
  });
}

Gradients backward_on_meta(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                           std::string_view activation) {
  check_backward(gradient, x, bias, activation);
  return {new_dense(x), new_dense(bias)};
}

/// Sum over all dimensions but the last one.
Tensor sum_rows(const Tensor& tensor) {
  if (tensor.dim() == 1) return tensor;
  std::vector<int64_t> leading(static_cast<size_t>(tensor.dim() - 1));
  std::iota(leading.begin(), leading.end(), 0);
  return tensor.sum(leading);
}

/// PyTorch's operators in fp32, rounded once.
Gradients backward_on_cpu(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                          std::string_view activation) {
  check_backward(gradient, x, bias, activation);
  const Tensor sum = x.to(at::kFloat) + bias.to(at::kFloat);
  const Tensor result = apply_activation(sum, activation);
  const Tensor inner = activation_gradient(gradient.to(at::kFloat), sum, result, activation);
  const auto rounded = [&](const Tensor& wide) {
    return wide.to(x.scalar_type(), /*non_blocking=*/false, /*copy=*/true).contiguous();
  };
  return {rounded(inner), rounded(sum_rows(inner))};
}

Gradients backward_on_device(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                             std::string_view activation) {
  check_backward(gradient, x, bias, activation);
  const Tensor of_x = new_dense(x), of_bias = new_dense(bias);
  translate_errors([&] {
    KernelCall(kBiasAddActivationBackward.name, x.device())
        .operand(gradient)
        .operand(x)
        .operand(bias)
        .result(of_x)
        .result(of_bias)
        .launch(kBiasAddActivationBackward, {std::string(activation)});
  });
  return {of_x, of_bias};
}

const BackwardOp kActivationBackward{
    "bias_add_activation_backward(Tensor gradient, Tensor x, Tensor bias, str activation)"
    " -> (Tensor, Tensor)",
    backward_on_meta, backward_on_cpu, backward_on_device};

}  // namespace

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  return kBiasAddActivationCall.call(x, bias, activation);
}

Gradients bias_add_activation_gradients(const Tensor& gradient, const Tensor& x, const Tensor& bias,
                                        std::string_view activation) {
  return kActivationBackward(gradient, x, bias, activation);
}

}  // namespace neuron_sim
