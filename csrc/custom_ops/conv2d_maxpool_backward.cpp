// The gradients of conv2d_maxpool.

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>

#include "csrc/custom_ops/activation_functions.h"
#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/conv2d_maxpool.h"
#include "ops/conv2d/input_gradient.h"
#include "ops/conv2d/weight_gradient.h"
#include "ops/pooling/maxpool_activation_backward.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Forward = Invocation<Conv2dMaxpoolOptions>;
using Backward = Conv2dMaxpoolBackward<PrepareConv2dMaxpool>;

/// The forward call, after the checks of it and of the gradient of its result.
template <typename... Arguments>
Forward prepare(const Tensor& gradient, const Arguments&... arguments) {
  return translate_errors([&] {
    Forward forward = prepare_conv2d_maxpool(arguments...);
    check_gradient("conv2d_maxpool_backward", {"gradient", gradient},
                   {"input", forward.operands[0]}, forward.sizes);
    return forward;
  });
}

Tensor pooling_gradient(const Tensor& gradient, const Tensor& unpooled,
                        const Conv2dMaxpoolOptions& options) {
  const IntArrayRef window = options.pool_kernel, step = options.pool_stride;
  const std::vector<int64_t> none = {0, 0}, unit = {1, 1};
  if (window == IntArrayRef(unit) && step == IntArrayRef(unit)) return gradient;
  const Tensor indices =
      std::get<1>(at::max_pool2d_with_indices(unpooled, window, step, none, unit, false));
  return at::max_pool2d_with_indices_backward(gradient, unpooled, window, step, none, unit,
                                              /*ceil_mode=*/false, indices);
}

/// PyTorch's operators in fp32, rounded once.
Backward::Gradients gradients_on_cpu(const Tensor& gradient, const Forward& forward,
                                     Backward::Wanted wanted) {
  const Conv2dMaxpoolOptions& options = forward.options;
  const Tensor &input = forward.operands[0], &bias = forward.operands[2];
  const Tensor wide_input = input.to(at::kFloat), wide_weight = forward.operands[1].to(at::kFloat);
  const std::array<int64_t, 2> no_padding{0, 0};
  const std::string_view activation = activation_name(options.activation);
  const Tensor sum = at::convolution(wide_input, wide_weight, bias.to(at::kFloat), options.stride,
                                     options.padding, options.dilation, /*transposed=*/false,
                                     /*output_padding=*/no_padding, options.groups);
  const Tensor result = apply_activation(sum, activation);
  const Tensor unpooled = pooling_gradient(gradient.to(at::kFloat), result, options);
  const Tensor inner = activation_gradient(unpooled, sum, result, activation);
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(inner, wide_input, wide_weight, bias.sizes(), options.stride,
                               options.padding, options.dilation, /*transposed=*/false,
                               /*output_padding=*/no_padding, options.groups, wanted);
  const auto rounded = [&](const Tensor& wide) {
    return wide.defined() ? wide.to(input.scalar_type()).contiguous() : wide;
  };
  return {rounded(of_input), rounded(of_weight), rounded(of_bias)};
}

/// Launches a kernel of the gradients.
template <typename Options>
void run(const KernelDefinition<Options>& kernel, at::TensorList operands, at::TensorList results,
         const Options& options) {
  KernelCall call(kernel.name, operands.front().device());
  for (const Tensor& operand : operands) call.operand(operand);
  for (const Tensor& result : results) call.result(result);
  call.launch(kernel, options);
}

/// The gradient of the convolution's sums, which are recomputed, in fp32 for every dtype.
Tensor gradient_of_sums(const Tensor& gradient, const Forward& forward) {
  const Conv2dMaxpoolOptions& options = forward.options;
  const std::array<int64_t, 2> unit{1, 1};
  if (options.activation == Activation::kIdentity && options.pool_kernel == unit &&
      options.pool_stride == unit) {
    return gradient;
  }
  const Conv2dMaxpoolOptions convolution{.stride = options.stride,
                                         .padding = options.padding,
                                         .dilation = options.dilation,
                                         .groups = options.groups,
                                         .output_dtype = Dtype::kFloat32};
  const auto size = [&](size_t axis) { return convolution_axis(forward, axis).convolved(); };
  const Tensor sums = at::empty({gradient.size(0), gradient.size(1), size(0), size(1)},
                                gradient.options().dtype(at::kFloat));
  run(kConv2dMaxpool, forward.operands, {sums}, convolution);
  const Tensor result = at::empty(sums.sizes(), gradient.options());
  run(kMaxpoolActivationBackward, {gradient, sums}, {result},
      {options.pool_kernel, options.pool_stride, options.activation});
  return result;
}

Backward::Gradients gradients_on_device(const Tensor& gradient, const Forward& forward,
                                        Backward::Wanted wanted) {
  const Conv2dMaxpoolOptions& options = forward.options;
  const Tensor &input = forward.operands[0], &weight = forward.operands[1];
  Backward::Gradients results;
  auto& [of_input, of_weight, of_bias] = results;
  const auto [input_wanted, weight_wanted, bias_wanted] = wanted;
  if (!input_wanted && !weight_wanted && !bias_wanted) return results;
  const Conv2dGeometry geometry{options.stride, options.padding, options.dilation, options.groups};
  const Tensor inner = gradient_of_sums(gradient, forward);
  if (input_wanted) {
    of_input = new_dense(input);
    run(kConv2dInputGradient, {inner, weight}, {of_input}, geometry);
  }
  if (!weight_wanted && !bias_wanted) return results;
  of_weight = new_dense(weight);
  of_bias = new_dense(forward.operands[2]);
  run(kConv2dWeightGradient, {inner, input}, {of_weight, of_bias}, geometry);
  if (!weight_wanted) of_weight = Tensor();
  if (!bias_wanted) of_bias = Tensor();
  return results;
}

}  // namespace

template <typename... Arguments>
auto Conv2dMaxpoolBackward<Forward(Arguments...)>::on_meta(const Tensor& gradient,
                                                           Arguments... arguments, Wanted wanted)
    -> Gradients {
  const Forward forward = prepare(gradient, arguments...);
  const auto like = [&](size_t operand) {
    return wanted[operand] ? new_dense(forward.operands[operand]) : Tensor();
  };
  return {like(0), like(1), like(2)};
}

template <typename... Arguments>
auto Conv2dMaxpoolBackward<Forward(Arguments...)>::on_cpu(const Tensor& gradient,
                                                          Arguments... arguments, Wanted wanted)
    -> Gradients {
  return gradients_on_cpu(gradient, prepare(gradient, arguments...), wanted);
}

template <typename... Arguments>
auto Conv2dMaxpoolBackward<Forward(Arguments...)>::on_device(const Tensor& gradient,
                                                             Arguments... arguments, Wanted wanted)
    -> Gradients {
  const Forward forward = prepare(gradient, arguments...);
  return translate_errors([&] { return gradients_on_device(gradient, forward, wanted); });
}

namespace {

const BackwardOp kConvolutionBackward{
    c10::str("conv2d_maxpool_backward(Tensor gradient, ", kConv2dMaxpoolArguments,
             ", bool[3] output_mask=[True, True, True]) -> (Tensor, Tensor, Tensor)"),
    Backward::on_meta, Backward::on_cpu, Backward::on_device};

}  // namespace

template <typename... Arguments>
variable_list Conv2dMaxpoolBackward<Forward(Arguments...)>::gradients(
    const Gradient& gradient, const Kept<Arguments>&... arguments) {
  const auto [of_input, of_weight, of_bias] =
      kConvolutionBackward(gradient.of_result, argument_of(arguments)...,
                           Wanted{gradient.wanted[0], gradient.wanted[1], gradient.wanted[2]});
  return {of_input, of_weight, of_bias};
}

template struct Conv2dMaxpoolBackward<PrepareConv2dMaxpool>;

}  // namespace neuron_sim
