// The backward ops on the device: each builds or finds its compiled kernels and launches them.

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "csrc/custom_ops/result_sizes.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/errors.h"
#include "ops/conv2d/conv2d_input_gradient.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/conv2d_weight_gradient.h"
#include "ops/pooling/maxpool_activation_backward.h"
#include "ops/rows/bias_add_activation_backward.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// A new dense tensor like `operand`.
Tensor new_like(const Tensor& operand) {
  return at::empty(operand.sizes(), operand.options().memory_format(at::MemoryFormat::Contiguous));
}

std::tuple<Tensor, Tensor> bias_add_activation_backward(const Tensor& gradient, const Tensor& x,
                                                        const Tensor& bias,
                                                        std::string_view activation) {
  check_bias_add_activation_backward(gradient, x, bias, activation);
  return translate_errors([&]() -> std::tuple<Tensor, Tensor> {
    const Tensor x_gradient = new_like(x), bias_gradient = new_like(bias);
    KernelCall(kBiasAddActivationBackward.name, x.device())
        .operand(gradient)
        .operand(x)
        .operand(bias)
        .result(x_gradient)
        .result(bias_gradient)
        .launch(kBiasAddActivationBackward, {std::string(activation)});
    return {x_gradient, bias_gradient};
  });
}

/// The kernels of one convolution.
class ConvolutionBackward {
 public:
  ConvolutionBackward(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Conv2dMaxpoolOptions& options)
      : input_(input),
        weight_(weight),
        bias_(bias),
        geometry_{options.stride, options.padding, options.dilation, options.groups},
        pooling_{options.pool_kernel, options.pool_stride, options.activation} {}

  /// The gradient of the convolution's sums.
  Tensor inner(const Tensor& gradient) const {
    const std::array<int64_t, 2> unit{1, 1};
    if (pooling_.activation == Activation::kIdentity && pooling_.pool_kernel == unit &&
        pooling_.pool_stride == unit) {
      return gradient;
    }
    const Tensor sums = convolve();
    const Tensor result = at::empty(sums.sizes(), gradient.options());
    KernelCall(kMaxpoolActivationBackward.name, input_.device())
        .operand(gradient)
        .operand(sums)
        .result(result)
        .launch(kMaxpoolActivationBackward, pooling_);
    return result;
  }

  Tensor input_gradient(const Tensor& inner) const {
    const Tensor result = new_like(input_);
    KernelCall(kConv2dInputGradient.name, input_.device())
        .operand(inner)
        .operand(weight_)
        .result(result)
        .launch(kConv2dInputGradient, geometry_);
    return result;
  }

  std::array<Tensor, 2> weight_gradients(const Tensor& inner) const {
    std::array<Tensor, 2> results{new_like(weight_), new_like(bias_)};
    KernelCall(kConv2dWeightGradient.name, input_.device())
        .operand(inner)
        .operand(input_)
        .result(results[0])
        .result(results[1])
        .launch(kConv2dWeightGradient, geometry_);
    return results;
  }

 private:
  /// The convolution with its bias, recomputed, in fp32 for every dtype.
  Tensor convolve() const {
    const Conv2dMaxpoolOptions options{.stride = geometry_.stride,
                                       .padding = geometry_.padding,
                                       .dilation = geometry_.dilation,
                                       .groups = geometry_.groups,
                                       .output_dtype = Dtype::kFloat32};
    const Sizes sizes = conv2d_maxpool_sizes(input_, weight_, bias_, options);
    const Tensor sums = at::empty(C10_AS_INTARRAYREF_SLOW(c10::SymIntArrayRef(sizes)),
                                  input_.options().dtype(at::kFloat));
    KernelCall(kConv2dMaxpool.name, input_.device())
        .operand(input_)
        .operand(weight_)
        .operand(bias_)
        .result(sums)
        .launch(kConv2dMaxpool, options);
    return sums;
  }

  const Tensor &input_, &weight_, &bias_;
  const Conv2dGeometry geometry_;
  const MaxpoolActivationOptions pooling_;
};

std::tuple<Tensor, Tensor, Tensor> conv2d_maxpool_backward(
    const Tensor& gradient, const Tensor& input, const Tensor& weight, const Tensor& bias,
    at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
    std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride, std::array<bool, 3> output_mask) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  check_conv2d_maxpool_backward(gradient, input, weight, bias, options);
  return translate_errors([&] {
    std::tuple<Tensor, Tensor, Tensor> results;
    const ConvolutionBackward backward(input, weight, bias, options);
    if (!output_mask[0] && !output_mask[1] && !output_mask[2]) return results;
    const Tensor inner = backward.inner(gradient);
    if (output_mask[0]) std::get<0>(results) = backward.input_gradient(inner);
    if (!output_mask[1] && !output_mask[2]) return results;
    const auto [weight_gradient, bias_gradient] = backward.weight_gradients(inner);
    if (output_mask[1]) std::get<1>(results) = weight_gradient;
    if (output_mask[2]) std::get<2>(results) = bias_gradient;
    return results;
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, PrivateUse1, m) {
  m.impl("bias_add_activation_backward", bias_add_activation_backward);
  m.impl("conv2d_maxpool_backward", conv2d_maxpool_backward);
}

}  // namespace neuron_sim
