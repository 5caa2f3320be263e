#pragma once
// conv2d_maxpool and its gradients: what both ops check.

#include "csrc/custom_ops/custom_op.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/reference/reference.h"

namespace neuron_sim {

inline constexpr std::string_view kConv2dMaxpoolArguments =
    "Tensor input, Tensor weight, Tensor bias, int[2] pool_size, *, int[2] stride=1,"
    " int[2] padding=0, str activation='identity', int[2] dilation=1, int groups=1,"
    " int[2]? pool_stride=None";

/// The call of conv2d_maxpool for these arguments; lists are height, width.
using PrepareConv2dMaxpool = Invocation<Conv2dMaxpoolOptions>(
    const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
    at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
    std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride);
PrepareConv2dMaxpool prepare_conv2d_maxpool;

/// The name of `activation` as the op takes it; the device calls the identity a copy.
std::string_view activation_name(Activation activation);

/// Rows (axis 0) or columns (axis 1) of that call, whose sizes are numbers.
reference::ConvolutionAxis convolution_axis(const Invocation<Conv2dMaxpoolOptions>& call,
                                            size_t axis);

template <typename Prepare>
struct Conv2dMaxpoolBackward;

/// The op conv2d_maxpool_backward: its kernels take the gradient of the result, the arguments of
/// conv2d_maxpool and which gradients are wanted.
template <typename... Arguments>
struct Conv2dMaxpoolBackward<Invocation<Conv2dMaxpoolOptions>(Arguments...)> {
  using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  ///< input, weight, bias
  using Wanted = std::array<bool, 3>;

  static Gradients on_meta(const at::Tensor& gradient, Arguments... arguments, Wanted wanted);
  static Gradients on_cpu(const at::Tensor& gradient, Arguments... arguments, Wanted wanted);
  static Gradients on_device(const at::Tensor& gradient, Arguments... arguments, Wanted wanted);
  /// The gradients of CustomOp; those that are not wanted are undefined.
  static variable_list gradients(const Gradient& gradient, const Kept<Arguments>&... arguments);
};

}  // namespace neuron_sim
