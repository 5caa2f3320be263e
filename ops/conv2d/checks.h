#pragma once
// The arguments of the convolution kernel: checks, and the sizes that follow from them.
//
// The rules for sizes are templates, because those of torch's tensors may be symbols. `Sizes` has
// static functions: equal(a, b), at_least(a, b) and written(a), the size as text.

#include "device/base/errors.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/plan.h"

namespace neuron_sim {

/// KernelError (kValue) for an option out of its range.
void check_conv2d_options(const Conv2dMaxpoolOptions& options);

/// Channels of input and filters of weight divide into equal groups; KernelError (kValue)
/// otherwise. `input` and `weight` describe the tensors.
template <typename Sizes, typename Size>
void check_conv2d_groups(const Size& channels, const std::string& input, const Size& filters,
                         const std::string& weight, int64_t groups) {
  const auto check = [&](const Size& count, const char* kind, const std::string& tensor) {
    if (Sizes::equal(count % groups, 0)) return;
    fail(text("conv2d_maxpool: groups ", groups, " does not divide the ", Sizes::written(count),
              kind, tensor, "."));
  };
  check(channels, " channels of ", input);
  check(filters, " output channels of ", weight);
}

/// Rows (axis 0) or columns (axis 1) of the convolution; the kernel fits into its input and the
/// pooling window into its output, KernelError (kValue) otherwise. Options are in their range.
template <typename Sizes, typename Size>
Size conv2d_outputs(const Size& extent, const Size& kernel, const Conv2dMaxpoolOptions& options,
                    size_t axis) {
  const char* name = axis == 0 ? "height" : "width";
  const int64_t padding = options.padding[axis], dilation = options.dilation[axis];
  const int64_t pool = options.pool_kernel[axis];
  const Size padded = extent + 2 * padding;
  // Divided, so that numbers stay in range.
  if (!Sizes::at_least(padded, 1) || !Sizes::at_least((padded - 1) / dilation, kernel - 1)) {
    fail(text("conv2d_maxpool: the kernel ", name, " of ", Sizes::written(kernel),
              dilation == 1 ? "" : text(" with dilation ", dilation), " exceeds the padded input ",
              name, " of ", Sizes::written(padded), " (", Sizes::written(extent), " + 2 * ",
              padding, ")."));
  }
  const Size outputs = (padded - (kernel - 1) * dilation - 1) / options.stride[axis] + 1;
  if (!Sizes::at_least(outputs, pool)) {
    fail(text("conv2d_maxpool: the pooling window ", name, " of ", pool,
              " exceeds the convolution output ", name, " of ", Sizes::written(outputs), "."));
  }
  return outputs;
}

/// The sizes of a convolution of these tensors. KernelError as kConv2dMaxpool raises it.
Conv2dShape check_conv2d(const TensorSpec& input, const TensorSpec& weight, const TensorSpec& bias,
                         const Conv2dMaxpoolOptions& options);

}  // namespace neuron_sim
