#include "csrc/custom_ops/conv2d_maxpool.h"

#include "csrc/custom_ops/argument_checks.h"
#include "csrc/neuron_sim.h"
#include "ops/blocks/epilogue.h"
#include "ops/conv2d/checks.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr const char* kName = "conv2d_maxpool";

/// Sizes of torch, which may be symbols: then the answer is a guard.
struct SymbolicSizes {
  static bool equal(const c10::SymInt& a, const c10::SymInt& b) {
    return a.sym_eq(b).expect_true(__FILE__, __LINE__);
  }
  static bool at_least(const c10::SymInt& a, const c10::SymInt& b) {
    return a.sym_ge(b).expect_true(__FILE__, __LINE__);
  }
  static std::string written(const c10::SymInt& size) { return c10::str(size); }
};

/// Height and width.
std::array<int64_t, 2> pair(const char* name, IntArrayRef values) {
  TORCH_CHECK_VALUE(values.size() == 2, kName, ": ", name, " has ", values.size(),
                    " values, expected 2 (height, width).");
  return {values[0], values[1]};
}

struct Conv2dMaxpool {
  static inline const std::string kSchema =
      c10::str("conv2d_maxpool(", kConv2dMaxpoolArguments, ") -> Tensor");
  static constexpr auto& kKernel = kConv2dMaxpool;
  static constexpr auto& prepare = prepare_conv2d_maxpool;
  static constexpr auto& gradients = Conv2dMaxpoolBackward<PrepareConv2dMaxpool>::gradients;

  static void reference(const Invocation<Conv2dMaxpoolOptions>& call, const Tensor& out) {
    const Tensor &input = call.operands[0], &weight = call.operands[1], &bias = call.operands[2];
    const reference::ConvolutionSize size{.images = input.size(0),
                                          .channels = input.size(1),
                                          .filters = weight.size(0),
                                          .groups = call.options.groups,
                                          .rows = convolution_axis(call, 0),
                                          .columns = convolution_axis(call, 1)};
    reference::conv2d_maxpool(input.const_data_ptr(), weight.const_data_ptr(),
                              bias.const_data_ptr(), out.mutable_data_ptr(), size,
                              std::string(activation_name(call.options.activation)),
                              dtype_of(call.dtype));
  }
};
const CustomOp<Conv2dMaxpool> kConv2dMaxpoolOp;

}  // namespace

std::string_view activation_name(Activation activation) {
  return activation == Activation::kIdentity ? "identity" : name(activation);
}

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
  const Conv2dMaxpoolOptions options{
      .pool_kernel = pair("pool_size", pool_size),
      .pool_stride = pair("pool_stride", pool_stride.value_or(pool_size)),
      .stride = pair("stride", stride),
      .padding = pair("padding", padding),
      .dilation = pair("dilation", dilation),
      .groups = groups,
      .activation = parse_pointwise_function(kName, "activation", activation)};
  check_conv2d_options(options);
  const NamedTensor operands[] = {{"input", input}, {"weight", weight}, {"bias", bias}};
  check_same_device(kName, {operands[0], operands[1], operands[2]});
  check_same_dtype(kName, {operands[0], operands[1], operands[2]});
  check_float(kName, operands[0]);
  check_rank(kName, operands[0], 4);
  check_rank(kName, operands[1], 4);
  check_rank(kName, operands[2], 1);
  const c10::SymInt channels = input.sym_size(1), filters = weight.sym_size(0);
  check_conv2d_groups<SymbolicSizes>(channels, describe(operands[0]), filters,
                                     describe(operands[1]), groups);
  check_size(kName, operands[1], 1, channels / groups,
             groups == 1 ? "the channels of input" : "the channels of input per group");
  check_size(kName, operands[2], 0, filters, "the output channels of weight");
  check_not_empty(kName, operands[1]);
  const auto pooled = [&](size_t axis) {
    const c10::SymInt outputs = conv2d_outputs<SymbolicSizes>(
        input.sym_sizes()[2 + axis], weight.sym_sizes()[2 + axis], options, axis);
    return (outputs - options.pool_kernel[axis]) / options.pool_stride[axis] + 1;
  };
  return {{input, weight, bias},
          options,
          {input.sym_size(0), filters, pooled(0), pooled(1)},
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
