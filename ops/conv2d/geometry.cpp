#include "ops/conv2d/geometry.h"

#include "device/base/errors.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {
namespace {

void check_tensors(std::string_view op, const TensorSpec& gradient, const TensorSpec& input,
                   const TensorSpec& weight) {
  check_rank(op, "gradient", gradient, 4);
  check_rank(op, "input", input, 4);
  check_rank(op, "weight", weight, 4);
  check_float_operand(op, "gradient", gradient);
  check_same_dtype(op, "gradient", gradient, "input", input);
  check_same_dtype(op, "gradient", gradient, "weight", weight);
  for (size_t i = 0; i < 4; ++i) {
    if (weight.shape[i] < 1) {
      fail(text(op, ": dimension ", i, " of ", describe("weight", weight), " is empty."));
    }
  }
}

/// Outputs along one axis.
int64_t output_size(std::string_view op, size_t axis, const Conv2dSizes& sizes) {
  const Conv2dGeometry& geometry = sizes.geometry;
  const int64_t reach = geometry.dilation[axis] * (sizes.kernel[axis] - 1) + 1;
  const int64_t padded = sizes.input[axis] + 2 * geometry.padding[axis];
  if (padded < reach) {
    fail(text(op, ": the kernel ", axis == 0 ? "height" : "width", " of ", reach,
              " (dilated) exceeds the padded input of ", padded, "."));
  }
  return (padded - reach) / geometry.stride[axis] + 1;
}

}  // namespace

void check_geometry(std::string_view op, const Conv2dGeometry& geometry) {
  for (const int64_t stride : geometry.stride) check_at_least(op, "stride", stride, 1);
  for (const int64_t padding : geometry.padding) check_at_least(op, "padding", padding, 0);
  for (const int64_t dilation : geometry.dilation) check_at_least(op, "dilation", dilation, 1);
  check_at_least(op, "groups", geometry.groups, 1);
}

Conv2dSizes conv2d_sizes(std::string_view op, const TensorSpec& gradient, const TensorSpec& input,
                         const TensorSpec& weight, const Conv2dGeometry& geometry) {
  check_tensors(op, gradient, input, weight);
  check_geometry(op, geometry);
  Conv2dSizes sizes;
  sizes.geometry = geometry;
  sizes.images = input.shape[0];
  sizes.channels = input.shape[1];
  sizes.filters = weight.shape[0];
  if (sizes.filters % geometry.groups != 0) {
    fail(text(op, ": groups ", geometry.groups, " must divide the ", sizes.filters,
              " output channels of weight."));
  }
  check_size(op, "input", input, 1, weight.shape[1] * geometry.groups);
  for (size_t axis = 0; axis < 2; ++axis) {
    sizes.input[axis] = input.shape[2 + axis];
    sizes.kernel[axis] = weight.shape[2 + axis];
    sizes.output[axis] = output_size(op, axis, sizes);
  }
  const int64_t expected[] = {sizes.images, sizes.filters, sizes.output[0], sizes.output[1]};
  for (int64_t i = 0; i < 4; ++i) check_size(op, "gradient", gradient, i, expected[i]);
  return sizes;
}

}  // namespace neuron_sim
