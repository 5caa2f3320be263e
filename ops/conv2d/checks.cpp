#include "ops/conv2d/checks.h"

#include "ops/contract/operand_checks.h"
#include "ops/conv2d/geometry.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "conv2d_maxpool";

/// Sizes that are numbers.
struct Numbers {
  static bool equal(int64_t a, int64_t b) { return a == b; }
  static bool at_least(int64_t a, int64_t b) { return a >= b; }
  static int64_t written(int64_t size) { return size; }
};

void check_tensors(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias,
                   int64_t groups) {
  check_same_dtype(kOp, "input", input, "weight", weight);
  if (bias.dtype != Dtype::kFloat32) check_same_dtype(kOp, "input", input, "bias", bias);
  check_float_operand(kOp, "input", input);
  check_rank(kOp, "input", input, 4);
  check_rank(kOp, "weight", weight, 4);
  check_rank(kOp, "bias", bias, 1);
  check_conv2d_groups<Numbers>(input.shape[1], describe("input", input), weight.shape[0],
                               describe("weight", weight), groups);
  check_size(kOp, "weight", weight, 1, input.shape[1] / groups);
  check_size(kOp, "bias", bias, 0, weight.shape[0]);
  for (size_t i = 0; i < 4; ++i) {
    if (weight.shape[i] < 1 || input.shape[i] < (i == 0 ? 0 : 1)) {
      fail(text("conv2d_maxpool needs positive sizes, but dimension ", i, " of ",
                weight.shape[i] < 1 ? describe("weight", weight) : describe("input", input),
                " is not positive."));
    }
  }
}

/// Rows (0) or columns (1).
Conv2dAxis check_axis(const TensorSpec& input, const TensorSpec& weight,
                      const Conv2dMaxpoolOptions& options, size_t index) {
  const Conv2dAxis axis{.extent = input.shape[2 + index],
                        .kernel = weight.shape[2 + index],
                        .stride = options.stride[index],
                        .padding = options.padding[index],
                        .dilation = options.dilation[index],
                        .pool = options.pool_kernel[index],
                        .pool_stride = options.pool_stride[index]};
  conv2d_outputs<Numbers>(axis.extent, axis.kernel, options, index);
  return make_axis(axis, axis.extent + 2 * axis.padding - axis.reach());
}

}  // namespace

void check_conv2d_options(const Conv2dMaxpoolOptions& options) {
  for (const int64_t size : options.pool_kernel) check_at_least(kOp, "pool_size", size, 1);
  for (const int64_t stride : options.pool_stride) check_at_least(kOp, "pool_stride", stride, 1);
  check_geometry(kOp, {options.stride, options.padding, options.dilation, options.groups});
}

Conv2dShape check_conv2d(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias,
                         const Conv2dMaxpoolOptions& options) {
  check_conv2d_options(options);
  check_tensors(input, weight, bias, options.groups);
  Conv2dShape shape;
  shape.images = input.shape[0];
  shape.groups = options.groups;
  shape.channels = weight.shape[1];
  shape.filters = weight.shape[0] / options.groups;
  shape.rows = check_axis(input, weight, options, 0);
  shape.columns = check_axis(input, weight, options, 1);
  shape.dtype = input.dtype;
  shape.bias_dtype = bias.dtype;
  const Dtype output = options.output_dtype.value_or(input.dtype);
  if (output != input.dtype && output != Dtype::kFloat32) {
    fail(text("conv2d_maxpool gives an output of the dtype of its operands or float32, but got ",
              name(output), " for ", describe("input", input), "."),
         ErrorKind::kType);
  }
  shape.output_dtypes = {output};
  return shape;
}

}  // namespace neuron_sim
