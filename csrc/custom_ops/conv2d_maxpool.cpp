#include "csrc/custom_ops/conv2d_maxpool.h"

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/neuron_sim.h"
#include "ops/conv2d/conv2d_checks.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr const char* kOp = "conv2d_maxpool";

/// Output rows (axis 0) or columns (axis 1) of a convolution with pooling.
c10::SymInt pooled_size(const Tensor& input, const Tensor& weight,
                        const Conv2dMaxpoolOptions& options, size_t axis) {
  const char* name = axis == 0 ? "height" : "width";
  const c10::SymInt extent = input.sym_sizes()[2 + axis], kernel = weight.sym_sizes()[2 + axis];
  const int64_t padding = options.padding[axis], dilation = options.dilation[axis];
  const c10::SymInt padded = extent + 2 * padding, reach = (kernel - 1) * dilation + 1;
  TORCH_CHECK_VALUE(
      (padded - reach).sym_ge(0).expect_true(__FILE__, __LINE__), kOp, ": the kernel ", name,
      " of ", kernel, dilation == 1 ? std::string() : c10::str(" with dilation ", dilation),
      " exceeds the padded input ", name, " of ", padded, " (", extent, " + 2 * ", padding, ").");
  const c10::SymInt convolved = (padded - reach) / options.stride[axis] + 1;
  const int64_t window = options.pool_kernel[axis];
  TORCH_CHECK_VALUE((convolved - window).sym_ge(0).expect_true(__FILE__, __LINE__), kOp,
                    ": the pooling window ", name, " of ", window,
                    " exceeds the convolution output ", name, " of ", convolved, ".");
  return (convolved - window) / options.pool_stride[axis] + 1;
}

/// Channels of input and filters of weight divide into equal groups.
void check_groups(const NamedTensor& input, const NamedTensor& weight, int64_t groups) {
  const c10::SymInt channels = input.tensor.sym_size(1), filters = weight.tensor.sym_size(0);
  TORCH_CHECK_VALUE((channels % groups).sym_eq(0).expect_true(__FILE__, __LINE__), kOp, ": groups ",
                    groups, " does not divide the ", channels, " channels of ", describe(input),
                    ".");
  TORCH_CHECK_VALUE((filters % groups).sym_eq(0).expect_true(__FILE__, __LINE__), kOp, ": groups ",
                    groups, " does not divide the ", filters, " output channels of ",
                    describe(weight), ".");
  check_size(kOp, weight, 1, channels / groups,
             groups == 1 ? "the channels of input" : "the channels of input per group");
}

/// Height and width.
std::array<int64_t, 2> pair(const char* name, IntArrayRef values) {
  TORCH_CHECK_VALUE(values.size() == 2, kOp, ": ", name, " has ", values.size(),
                    " values, expected 2 (height, width).");
  return {values[0], values[1]};
}

struct Conv2dMaxpool {
  static constexpr const char* kSchema =
      "conv2d_maxpool(Tensor input, Tensor weight, Tensor bias, int[2] pool_size, *,"
      " int[2] stride=1, int[2] padding=0, str activation='identity', int[2] dilation=1,"
      " int groups=1, int[2]? pool_stride=None) -> Tensor";
  static constexpr auto& kKernel = kConv2dMaxpool;
  static constexpr auto& prepare = prepare_conv2d_maxpool;

  static void reference(const Invocation<Conv2dMaxpoolOptions>& call, const Tensor& out) {
    const Tensor &input = call.operands[0], &weight = call.operands[1], &bias = call.operands[2];
    const Activation activation = call.options.activation;
    const reference::ConvolutionSize size{.images = input.size(0),
                                          .channels = input.size(1),
                                          .filters = weight.size(0),
                                          .groups = call.options.groups,
                                          .rows = convolution_axis(call, 0),
                                          .columns = convolution_axis(call, 1)};
    // The device calls the identity a copy.
    const std::string_view function =
        activation == Activation::kIdentity ? "identity" : name(activation);
    reference::conv2d_maxpool(input.const_data_ptr(), weight.const_data_ptr(),
                              bias.const_data_ptr(), out.mutable_data_ptr(), size,
                              std::string(function), dtype_of(call.dtype));
  }

  static variable_list gradients(const Gradient& gradient, const Tensor& input,
                                 const Tensor& weight, const Tensor& bias, IntArrayRef pool_size,
                                 IntArrayRef stride, IntArrayRef padding,
                                 std::string_view activation, IntArrayRef dilation, int64_t groups,
                                 const std::optional<std::vector<int64_t>>& pool_stride) {
    const std::vector<bool>& wanted = gradient.wanted;
    const auto [of_input, of_weight, of_bias] = conv2d_maxpool_gradients(
        gradient.of_result, input, weight, bias, pool_size, stride, padding, activation, dilation,
        groups, pool_stride ? at::OptionalIntArrayRef(*pool_stride) : std::nullopt,
        {wanted[0], wanted[1], wanted[2]});
    return {of_input, of_weight, of_bias};
  }
};
const CustomOp<Conv2dMaxpool> kConv2dMaxpoolOp;

}  // namespace

reference::ConvolutionAxis convolution_axis(const Invocation<Conv2dMaxpoolOptions>& call,
                                            size_t axis) {
  const Conv2dMaxpoolOptions& options = call.options;
  const auto dimension = static_cast<int64_t>(2 + axis);
  return {call.operands[0].size(dimension),
          call.operands[1].size(dimension),
          options.stride[axis],
          options.padding[axis],
          options.dilation[axis],
          options.pool_kernel[axis],
          options.pool_stride[axis]};
}

Invocation<Conv2dMaxpoolOptions> prepare_conv2d_maxpool(const Tensor& input, const Tensor& weight,
                                                        const Tensor& bias, IntArrayRef pool_size,
                                                        IntArrayRef stride, IntArrayRef padding,
                                                        std::string_view activation,
                                                        IntArrayRef dilation, int64_t groups,
                                                        at::OptionalIntArrayRef pool_stride) {
  check_activation(kOp, "activation", activation, /*softmax_allowed=*/false);
  const Conv2dMaxpoolOptions options{.pool_kernel = pair("pool_size", pool_size),
                                     .pool_stride =
                                         pair("pool_stride", pool_stride.value_or(pool_size)),
                                     .stride = pair("stride", stride),
                                     .padding = pair("padding", padding),
                                     .dilation = pair("dilation", dilation),
                                     .groups = groups,
                                     .activation = *parse_activation(activation)};
  check_conv2d_options(options);
  const NamedTensor operands[] = {{"input", input}, {"weight", weight}, {"bias", bias}};
  check_same_device(kOp, {operands[0], operands[1], operands[2]});
  check_same_dtype(kOp, {operands[0], operands[1], operands[2]});
  check_float(kOp, operands[0]);
  check_rank(kOp, operands[0], 4);
  check_rank(kOp, operands[1], 4);
  check_rank(kOp, operands[2], 1);
  check_groups(operands[0], operands[1], options.groups);
  check_size(kOp, operands[2], 0, weight.sym_size(0), "the output channels of weight");
  check_not_empty(kOp, operands[1]);
  return {{input, weight, bias},
          options,
          {input.sym_size(0), weight.sym_size(0), pooled_size(input, weight, options, 0),
           pooled_size(input, weight, options, 1)},
          input.scalar_type()};
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      HeightWidth pool_size, HeightWidth stride, HeightWidth padding,
                      std::string_view activation, HeightWidth dilation, int64_t groups,
                      std::optional<HeightWidth> pool_stride) {
  const auto list = [](const HeightWidth& pair) { return std::array{pair.height, pair.width}; };
  return kConv2dMaxpoolOp.call(input, weight, bias, list(pool_size), list(stride), list(padding),
                               activation, list(dilation), groups,
                               list(pool_stride.value_or(pool_size)));
}

}  // namespace neuron_sim
