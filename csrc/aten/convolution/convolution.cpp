#include "csrc/aten/convolution/convolution.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/safe_numerics.h>

#include <limits>

#include "csrc/aten/convolution/convolution3d.h"
#include "csrc/aten/convolution/convolution_taps.h"
#include "csrc/aten/convolution/group_weights.h"
#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/launch/auto_cast.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/tensor_access.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/input_gradient.h"
#include "ops/conv2d/weight_gradient.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool given(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

/// Checks an operand of the device kernels with two spatial dimensions.
void check_operand(const Tensor& tensor, const Tensor& input) {
  check_computable(tensor.scalar_type());
  TORCH_CHECK(tensor.device() == input.device(),
              "convolution: Expected all tensors to be on the same device, but found at least two "
              "devices, ",
              tensor.device(), " and ", input.device(), "!");
  TORCH_CHECK(tensor.scalar_type() == input.scalar_type(), "Input type (", input.scalar_type(),
              ") and weight or bias type (", tensor.scalar_type(), ") should be the same");
  if (!at::isFloatingType(tensor.scalar_type())) {
    throw Refusal{"the Tensor engine convolves float32, float16 and bfloat16 only"};
  }
}

/// One spatial dimension becomes two, of which the first has one element.
ConvolutionParameters as_2d(const ConvolutionParameters& parameters) {
  if (parameters.stride.size() != 1) return parameters;
  ConvolutionParameters result = parameters;
  result.stride.insert(result.stride.begin(), 1);
  result.padding.insert(result.padding.begin(), 0);
  result.dilation.insert(result.dilation.begin(), 1);
  result.output_padding.insert(result.output_padding.begin(), 0);
  return result;
}

Conv2dGeometry geometry_of(const ConvolutionParameters& parameters) {
  Conv2dGeometry geometry;
  for (size_t i = 0; i < 2; ++i) {
    geometry.stride[i] = parameters.stride[i];
    geometry.padding[i] = parameters.padding[i];
    geometry.dilation[i] = parameters.dilation[i];
  }
  geometry.groups = parameters.groups;
  return geometry;
}

at::DimVector result_sizes(const Tensor& input, const Tensor& weight,
                           const ConvolutionParameters& parameters) {
  const bool transposed = parameters.transposed;
  at::DimVector sizes{input.size(0),
                      transposed ? weight.size(1) * parameters.groups : weight.size(0)};
  for (int64_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<size_t>(i);
    int64_t reach = 0;
    TORCH_CHECK(!c10::mul_overflows(parameters.dilation[axis], weight.size(2 + i) - 1, &reach) &&
                    reach < std::numeric_limits<int64_t>::max() / 4,
                "convolution: a dilation of ", parameters.dilation[axis], " is out of range");
    ++reach;
    const int64_t extent = input.size(2 + i), stride = parameters.stride[axis];
    const int64_t padding = 2 * parameters.padding[axis];
    const int64_t size =
        transposed ? (extent - 1) * stride - padding + reach + parameters.output_padding[axis]
                   : (extent + padding - reach) / stride + 1;
    TORCH_CHECK(!transposed || size > 0, "Given an input size per channel of ", extent,
                ", the output size per channel is ", size, ". Output size is too small");
    TORCH_CHECK(size >= 0 && extent + (transposed ? 0 : padding - reach) >= 0,
                "Calculated padded input size per channel is smaller than the kernel: input size ",
                extent, ", padding ", padding, " in all, kernel ", reach);
    sizes.push_back(size);
  }
  return sizes;
}

/// The tensor with contiguous rows, if it is large: channels_last and permuted tensors.
Tensor with_rows(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;  // nearly always; saves a tensor to compare with
  return with_neighbours_of(tensor, at::empty(tensor.sizes(), tensor.options().device(at::kMeta)));
}

/// result = convolution(input, weight) + bias.
void launch_convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                        const Tensor& result, Conv2dGeometry geometry) {
  if (result.numel() == 0) return;
  KernelCall call(kConvolution.name, result.device());
  const Tensor image = AutoCast::rounded(input);
  const bool is_constant = holds_constant(weight);
  Tensor rows = with_rows(AutoCast::rounded(weight));
  const auto shared = shared_groups(call.architecture().limits, geometry.groups, rows.size(1),
                                    rows.size(0) / geometry.groups);
  if (is_constant && shared && *shared > 1) {
    rows = spread_weight(rows.contiguous(), geometry.groups, *shared);
    geometry.groups /= *shared;
  }
  call.operand(with_rows(image)).operand(rows);
  // Its channels go to the partitions.
  if (geometry.groups == 1 || (is_constant && shared)) call.constant_order({1, 2, 3, 0});
  if (given(bias)) call.operand(*bias);
  const Conv2dMaxpoolOptions options{.stride = geometry.stride,
                                     .padding = geometry.padding,
                                     .dilation = geometry.dilation,
                                     .groups = geometry.groups,
                                     .output_dtype = dtype_of(result.scalar_type())};
  call.result(result).launch(kConvolution, options);
}

/// result = the input gradient of a convolution with that output gradient, + bias.
void launch_input_gradient(const Tensor& gradient, const Tensor& weight, const OptionalTensor& bias,
                           const Tensor& result, const Conv2dGeometry& geometry) {
  if (result.numel() == 0) return;
  KernelCall call(kConvolutionInputGradient.name, result.device());
  call.operand(with_rows(gradient)).operand(with_rows(weight));
  if (given(bias)) call.operand(*bias);
  call.result(result).launch(kConvolutionInputGradient, geometry);
}

/// Gradients for the weight, and for the bias if `bias` is defined, of a convolution.
void launch_weight_gradient(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                            const Tensor& bias, const Conv2dGeometry& geometry) {
  KernelCall call(kConvolutionWeightGradient.name, weight.device());
  call.operand(with_rows(gradient)).operand(with_rows(input)).result(weight);
  if (bias.defined()) call.result(bias);
  call.launch(kConvolutionWeightGradient, geometry);
}

/// Whole strides in the output_padding of a transposed convolution, per axis; empty if there are
/// none. Its output is the input of a convolution, and they would lie past its last step.
at::DimVector whole_strides(const ConvolutionParameters& parameters) {
  at::DimVector strides;
  bool any = false;
  for (size_t i = 0; parameters.transposed && i < parameters.stride.size(); ++i) {
    strides.push_back(parameters.output_padding[i] / parameters.stride[i]);
    any = any || strides.back() > 0;
  }
  return any ? strides : at::DimVector();
}

/// That many zeros after the input have the same effect.
Tensor with_zeros_behind(const Tensor& input, const at::DimVector& zeros) {
  at::DimVector padding;  // the last dimension first
  for (auto count = zeros.rbegin(); count != zeros.rend(); ++count) {
    padding.push_back(0);
    padding.push_back(*count);
  }
  return at::constant_pad_nd(input, padding);
}
ConvolutionParameters without_strides(ConvolutionParameters parameters,
                                      const at::DimVector& strides) {
  for (size_t i = 0; i < strides.size(); ++i) {
    parameters.output_padding[i] -= strides[i] * parameters.stride[i];
  }
  return parameters;
}

Tensor convolution_2d(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                      const ConvolutionParameters& parameters) {
  const at::DimVector sizes = result_sizes(input, weight, parameters);
  const Tensor result = at::empty(sizes, input.options(), at::MemoryFormat::Contiguous);
  const Conv2dGeometry geometry = geometry_of(parameters);
  if (parameters.transposed) {
    launch_input_gradient(input, weight, bias, result, geometry);
    return result;
  }
  try {
    launch_convolution(input, weight, bias, result, geometry);
  } catch (const KernelError&) {
    if (!has_taps(weight, parameters)) throw;
    return convolution_by_taps(input, weight, bias, parameters, sizes);
  }
  return result;
}

ConvolutionGradients backward_whole(const Tensor& gradient, const Tensor& input,
                                    const Tensor& weight, const ConvolutionParameters& parameters,
                                    std::array<bool, 3> mask) {
  const Conv2dGeometry geometry = geometry_of(parameters);
  const auto fresh = [](const Tensor& like, bool wanted) {
    return wanted ? at::empty_like(like, like.options(), at::MemoryFormat::Contiguous) : Tensor();
  };
  const Tensor for_input = fresh(input, mask[0]);
  Tensor for_weight = fresh(weight, mask[1]), for_bias;
  if (parameters.transposed) {
    if (mask[0]) launch_convolution(gradient, weight, std::nullopt, for_input, geometry);
    if (mask[1]) launch_weight_gradient(input, gradient, for_weight, {}, geometry);
    if (mask[2]) for_bias = at::sum(gradient, IntArrayRef{0, 2, 3});
    return {for_input, for_weight, for_bias};
  }
  if (mask[0]) launch_input_gradient(gradient, weight, std::nullopt, for_input, geometry);
  if (mask[2]) for_bias = at::empty({weight.size(0)}, weight.options());
  if (mask[1]) {
    launch_weight_gradient(gradient, input, for_weight, for_bias, geometry);
  } else if (mask[2]) {
    for_bias = at::sum(gradient, IntArrayRef{0, 2, 3});
  }
  return {for_input, for_weight, for_bias};
}

ConvolutionGradients backward_2d(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                 const ConvolutionParameters& parameters,
                                 std::array<bool, 3> mask) {
  try {
    return backward_whole(gradient, input, weight, parameters, mask);
  } catch (const KernelError&) {
    if (!has_taps(weight, parameters)) throw;
    return backward_by_taps(gradient, input, weight, parameters, mask);
  }
}

}  // namespace

Tensor device_convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                          const ConvolutionParameters& parameters) {
  check_operand(weight, input);
  if (given(bias)) check_operand(*bias, input);
  if (weight.numel() == 0) throw Refusal{"the weight has no elements"};
  const c10::DeviceGuard guard(input.device());
  if (const at::DimVector extra = whole_strides(parameters); !extra.empty()) {
    return device_convolution(with_zeros_behind(input, extra), weight, bias,
                              without_strides(parameters, extra));
  }
  if (input.dim() == 5) return convolution_3d(input, weight, bias, parameters);
  if (input.dim() == 4) return convolution_2d(input, weight, bias, parameters);
  return convolution_2d(input.unsqueeze(2), weight.unsqueeze(2), bias, as_2d(parameters))
      .squeeze(2);
}

ConvolutionGradients device_convolution_backward(const Tensor& gradient, const Tensor& input,
                                                 const Tensor& weight,
                                                 const ConvolutionParameters& parameters,
                                                 std::array<bool, 3> mask) {
  check_operand(weight, input);
  check_operand(gradient, input);
  if (weight.numel() == 0) throw Refusal{"the weight has no elements"};
  const c10::DeviceGuard guard(input.device());
  if (const at::DimVector extra = whole_strides(parameters); !extra.empty()) {
    auto [padded, for_weight, for_bias] =
        device_convolution_backward(gradient, with_zeros_behind(input, extra), weight,
                                    without_strides(parameters, extra), mask);
    for (int64_t i = 2; mask[0] && i < input.dim(); ++i)
      padded = padded.narrow(i, 0, input.size(i));
    return {mask[0] ? padded.contiguous() : padded, for_weight, for_bias};
  }
  if (input.dim() == 5) return backward_3d(gradient, input, weight, parameters, mask);
  if (input.dim() == 4) return backward_2d(gradient, input, weight, parameters, mask);
  auto [for_input, for_weight, for_bias] = backward_2d(
      gradient.unsqueeze(2), input.unsqueeze(2), weight.unsqueeze(2), as_2d(parameters), mask);
  if (mask[0]) for_input = for_input.squeeze(2);
  if (mask[1]) for_weight = for_weight.squeeze(2);
  return {for_input, for_weight, for_bias};
}

}  // namespace neuron_sim
