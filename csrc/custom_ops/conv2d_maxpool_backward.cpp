// The gradients of conv2d_maxpool.

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>

#include "csrc/custom_ops/activation_functions.h"
#include "csrc/custom_ops/argument_checks.h"
#include "csrc/custom_ops/conv2d_maxpool.h"
#include "ops/conv2d/conv2d_input_gradient.h"
#include "ops/conv2d/conv2d_weight_gradient.h"
#include "ops/pooling/maxpool_activation_backward.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;
using Forward = Invocation<Conv2dMaxpoolOptions>;

/// The forward call, after the checks of it and of the gradient of its result.
template <typename... Arguments>
Forward prepare(const Tensor& gradient, const Tensor& input, const Arguments&... arguments) {
  return translate_errors([&] {
    Forward forward = prepare_conv2d_maxpool(input, arguments...);
    check_gradient("conv2d_maxpool_backward", {"gradient", gradient}, {"input", input},
                   forward.sizes);
    return forward;
  });
}

Gradients on_meta(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                  const Tensor& bias, IntArrayRef pool_size, IntArrayRef stride,
                  IntArrayRef padding, std::string_view activation, IntArrayRef dilation,
                  int64_t groups, at::OptionalIntArrayRef pool_stride,
                  std::array<bool, 3> output_mask) {
  prepare(gradient, input, weight, bias, pool_size, stride, padding, activation, dilation, groups,
          pool_stride);
  const auto like = [](const Tensor& operand, bool wanted) {
    return wanted ? new_dense(operand) : Tensor();
  };
  return {like(input, output_mask[0]), like(weight, output_mask[1]), like(bias, output_mask[2])};
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
Gradients on_cpu(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, IntArrayRef pool_size, IntArrayRef stride, IntArrayRef padding,
                 std::string_view activation, IntArrayRef dilation, int64_t groups,
                 at::OptionalIntArrayRef pool_stride, std::array<bool, 3> output_mask) {
  const Forward forward = prepare(gradient, input, weight, bias, pool_size, stride, padding,
                                  activation, dilation, groups, pool_stride);
  const Tensor wide_input = input.to(at::kFloat), wide_weight = weight.to(at::kFloat);
  const Tensor sum =
      at::convolution(wide_input, wide_weight, bias.to(at::kFloat), stride, padding, dilation,
                      /*transposed=*/false, /*output_padding=*/{0, 0}, groups);
  const Tensor result = apply_activation(sum, activation);
  const Tensor unpooled = pooling_gradient(gradient.to(at::kFloat), result, forward.options);
  const Tensor inner = activation_gradient(unpooled, sum, result, activation);
  const auto [of_input, of_weight, of_bias] = at::convolution_backward(
      inner, wide_input, wide_weight, bias.sizes(), stride, padding, dilation,
      /*transposed=*/false, /*output_padding=*/{0, 0}, groups, output_mask);
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

Gradients on_device(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                    const Tensor& bias, IntArrayRef pool_size, IntArrayRef stride,
                    IntArrayRef padding, std::string_view activation, IntArrayRef dilation,
                    int64_t groups, at::OptionalIntArrayRef pool_stride,
                    std::array<bool, 3> output_mask) {
  const Forward forward = prepare(gradient, input, weight, bias, pool_size, stride, padding,
                                  activation, dilation, groups, pool_stride);
  const Conv2dMaxpoolOptions& options = forward.options;
  return translate_errors([&] {
    Gradients results;
    auto& [of_input, of_weight, of_bias] = results;
    const auto [input_wanted, weight_wanted, bias_wanted] = output_mask;
    if (!input_wanted && !weight_wanted && !bias_wanted) return results;
    const Conv2dGeometry geometry{options.stride, options.padding, options.dilation, groups};
    const Tensor inner = gradient_of_sums(gradient, forward);
    if (input_wanted) {
      of_input = new_dense(input);
      run(kConv2dInputGradient, {inner, weight}, {of_input}, geometry);
    }
    if (!weight_wanted && !bias_wanted) return results;
    of_weight = new_dense(weight);
    of_bias = new_dense(bias);
    run(kConv2dWeightGradient, {inner, input}, {of_weight, of_bias}, geometry);
    if (!weight_wanted) of_weight = Tensor();
    if (!bias_wanted) of_bias = Tensor();
    return results;
  });
}

const BackwardOp kBackward{
    "conv2d_maxpool_backward(Tensor gradient, Tensor input, Tensor weight, Tensor bias,"
    " int[2] pool_size, *, int[2] stride=1, int[2] padding=0, str activation='identity',"
    " int[2] dilation=1, int groups=1, int[2]? pool_stride=None,"
    " bool[3] output_mask=[True, True, True]) -> (Tensor, Tensor, Tensor)",
    on_meta, on_cpu, on_device};

}  // namespace

Gradients conv2d_maxpool_gradients(const Tensor& gradient, const Tensor& input,
                                   const Tensor& weight, const Tensor& bias, IntArrayRef pool_size,
                                   IntArrayRef stride, IntArrayRef padding,
                                   std::string_view activation, IntArrayRef dilation,
                                   int64_t groups, at::OptionalIntArrayRef pool_stride,
                                   std::array<bool, 3> wanted) {
  return kBackward(gradient, input, weight, bias, pool_size, stride, padding, activation, dilation,
                   groups, pool_stride, wanted);
}

}  // namespace neuron_sim
