#include "ops/conv2d/conv2d_checks.h"

#include "device/base/errors.h"
#include "ops/blocks/operand_checks.h"
#include "ops/conv2d/conv2d_geometry.h"

namespace neuron_sim {
namespace {

void check_tensors(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias) {
  if (input.shape.size() != 4 || weight.shape.size() != 4 || bias.shape.size() != 1) {
    fail(
        text("conv2d_maxpool needs input [N, Cin, H, W], weight [Cout, Cin, KH, KW] and bias "
             "[Cout], but got ",
             describe("input", input), ", ", describe("weight", weight), " and ",
             describe("bias", bias), "."));
  }
  const bool known = input.dtype == Dtype::kFloat32 || input.dtype == Dtype::kFloat16 ||
                     input.dtype == Dtype::kBfloat16;
  if (!known || weight.dtype != input.dtype || bias.dtype != input.dtype) {
    fail(text("conv2d_maxpool needs one dtype of float32, float16 and bfloat16 for input, weight "
              "and bias, but got ",
              describe("input", input), ", ", describe("weight", weight), " and ",
              describe("bias", bias), "."),
         ErrorKind::kType);
  }
  if (bias.shape[0] != weight.shape[0]) {
    fail(text("conv2d_maxpool needs one bias per output channel, but ", describe("bias", bias),
              " has ", bias.shape[0], " and ", describe("weight", weight), " has ", weight.shape[0],
              " output channels."));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (weight.shape[i] < 1 || input.shape[i] < (i == 0 ? 0 : 1)) {
      fail(text("conv2d_maxpool needs positive sizes, but dimension ", i, " of ",
                weight.shape[i] < 1 ? describe("weight", weight) : describe("input", input),
                " is not positive."));
    }
  }
}

void check_groups(const TensorSpec& input, const TensorSpec& weight, int64_t groups) {
  if (input.shape[1] % groups != 0 || weight.shape[0] % groups != 0) {
    fail(text("conv2d_maxpool needs input channels and output channels that ", groups,
              " groups divide, but ", describe("input", input), " has ", input.shape[1], " and ",
              describe("weight", weight), " has ", weight.shape[0], "."));
  }
  if (weight.shape[1] * groups != input.shape[1]) {
    fail(text("conv2d_maxpool needs as many input channels in weight as in ",
              groups == 1 ? text("input") : text("each of the ", groups, " groups of input"),
              ", but ", describe("weight", weight), " has ", weight.shape[1], " and ",
              describe("input", input), " has ", input.shape[1] / groups, "."));
  }
}

/// Rows (0) or columns (1); the kernel fits into the input and the window into the outputs.
Conv2dAxis check_axis(const TensorSpec& input, const TensorSpec& weight,
                      const Conv2dMaxpoolOptions& options, size_t index) {
  const char* name = index == 0 ? "height" : "width";
  const Conv2dAxis axis{.extent = input.shape[2 + index],
                        .kernel = weight.shape[2 + index],
                        .stride = options.stride[index],
                        .padding = options.padding[index],
                        .dilation = options.dilation[index],
                        .pool = options.pool_kernel[index],
                        .pool_stride = options.pool_stride[index]};
  const int64_t padded = axis.extent + 2 * axis.padding;
  if (axis.kernel - 1 > (padded - 1) / axis.dilation) {
    const std::string dilated = axis.dilation == 1 ? "" : text(" with dilation ", axis.dilation);
    fail(text("conv2d_maxpool: the kernel ", name, " of ", axis.kernel, dilated,
              " exceeds the padded input ", name, " of ", padded, " (", axis.extent, " + 2 * ",
              axis.padding, ")."));
  }
  const int64_t room = padded - axis.reach();
  const int64_t convolved = room / axis.stride + 1;
  if (axis.pool > convolved) {
    fail(text("conv2d_maxpool: the pooling window ", name, " of ", axis.pool,
              " exceeds the convolution output ", name, " of ", convolved, "."));
  }
  return make_axis(axis, room);
}

}  // namespace

void check_conv2d_options(const Conv2dMaxpoolOptions& options) {
  constexpr std::string_view kOp = "conv2d_maxpool";
  for (const int64_t size : options.pool_kernel) check_at_least(kOp, "pool_size", size, 1);
  for (const int64_t stride : options.pool_stride) check_at_least(kOp, "pool_stride", stride, 1);
  check_geometry(kOp, {options.stride, options.padding, options.dilation, options.groups});
}

Conv2dShape check_conv2d(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias,
                         const Conv2dMaxpoolOptions& options) {
  check_tensors(input, weight, bias);
  check_conv2d_options(options);
  check_groups(input, weight, options.groups);
  Conv2dShape shape;
  shape.images = input.shape[0];
  shape.groups = options.groups;
  shape.channels = weight.shape[1];
  shape.filters = weight.shape[0] / options.groups;
  shape.rows = check_axis(input, weight, options, 0);
  shape.columns = check_axis(input, weight, options, 1);
  shape.dtype = input.dtype;
  shape.output_dtype = options.output_dtype.value_or(input.dtype);
  if (shape.output_dtype != input.dtype && shape.output_dtype != Dtype::kFloat32) {
    fail(text("conv2d_maxpool gives an output of the dtype of its operands or float32, but got ",
              name(shape.output_dtype), " for ", describe("input", input), "."),
         ErrorKind::kType);
  }
  return shape;
}

}  // namespace neuron_sim
