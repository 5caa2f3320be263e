// Average pooling, windows of equal size or adaptive ones, and its gradient.

#include <ATen/native/Pool.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/windows/planes.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Axes = std::array<AxisTaps, 2>;  ///< rows, columns

Axes average_axes(const Tensor& input, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_padding, std::optional<int64_t> divisor) {
  Axes axes;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t extent = input.size(static_cast<int64_t>(i) - 2);
    const int64_t size = of_axis(kernel, i, 1), step = of_axis(stride, i, size);
    const int64_t pad = of_axis(padding, i, 0);
    const int64_t outputs =
        at::native::pooling_output_shape<int64_t>(extent, size, pad, step, 1, ceil_mode);
    // A caller's divisor is for rows and columns together.
    const double by = !divisor ? 0 : i == 0 ? static_cast<double>(*divisor) : 1;
    axes[i] = average_taps({extent, outputs, size, step, pad, count_padding, by});
  }
  return axes;
}

Axes adaptive_axes(const Tensor& input, int64_t rows, int64_t columns) {
  return {adaptive_average_taps(input.size(-2), rows),
          adaptive_average_taps(input.size(-1), columns)};
}

at::DimVector sizes_after(const Tensor& input, const Axes& axes) {
  at::DimVector sizes(input.sizes());
  sizes[sizes.size() - 2] = static_cast<int64_t>(axes[0].size());
  sizes[sizes.size() - 1] = static_cast<int64_t>(axes[1].size());
  return sizes;
}

void pool_into(const Tensor& input, const Axes& axes, const Tensor& out) {
  const Tensor planes = planes_of(input);
  resize_planes(out, sizes_after(input, axes));
  launch_resample(planes, planes_of(out), {axes[0], axes[1]});
}

void backward_into(const Tensor& gradient, const Tensor& input, const Axes& axes,
                   const Tensor& result) {
  const Tensor planes = planes_of(gradient);
  resize_planes(result, input.sizes());
  if (gradient.numel() == 0) {
    result.zero_();
    return;
  }
  launch_resample(
      planes, planes_of(result),
      {transposed_taps(axes[0], input.size(-2)), transposed_taps(axes[1], input.size(-1))});
}

Tensor& average_out(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                    bool ceil_mode, bool count_padding, std::optional<int64_t> divisor,
                    Tensor& out) {
  pool_into(self, average_axes(self, kernel, stride, padding, ceil_mode, count_padding, divisor),
            out);
  return out;
}

Tensor& average_backward_out(const Tensor& gradient, const Tensor& self, IntArrayRef kernel,
                             IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                             bool count_padding, std::optional<int64_t> divisor, Tensor& result) {
  backward_into(gradient, self,
                average_axes(self, kernel, stride, padding, ceil_mode, count_padding, divisor),
                result);
  return result;
}

void check_adaptive(const Tensor& self, c10::SymIntArrayRef sizes) {
  TORCH_CHECK(sizes.size() == 2, "adaptive_avg_pool2d: output_size must be 2");
  TORCH_CHECK(self.dim() == 3 || self.dim() == 4,
              "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ", self.sizes());
  for (int64_t i = self.dim() - 2; i < self.dim(); ++i) {
    TORCH_CHECK(self.size(i) > 0,
                "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch "
                "dimensions, but input has sizes ",
                self.sizes(), " with dimension ", i, " being empty");
  }
}

Tensor& adaptive_out(const Tensor& self, c10::SymIntArrayRef sizes, Tensor& out) {
  check_adaptive(self, sizes);
  pool_into(self, adaptive_axes(self, sizes[0].expect_int(), sizes[1].expect_int()), out);
  return out;
}

Tensor adaptive(const Tensor& self, c10::SymIntArrayRef sizes) {
  planes_of(self);
  const c10::DeviceGuard guard(self.device());
  check_adaptive(self, sizes);
  at::DimVector result(self.sizes());
  result[result.size() - 2] = sizes[0].expect_int();
  result[result.size() - 1] = sizes[1].expect_int();
  Tensor out = at::empty(result, self.options(), self.suggest_memory_format());
  return adaptive_out(self, sizes, out);
}

Tensor adaptive_backward(const Tensor& gradient, const Tensor& self) {
  planes_of(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor result = at::empty_like(self, self.options());
  backward_into(gradient, self, adaptive_axes(self, gradient.size(-2), gradient.size(-1)), result);
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("avg_pool2d.out", device_operator<average_out>());
  m.impl("avg_pool2d_backward.grad_input", device_operator<average_backward_out>());
  m.impl("_adaptive_avg_pool2d", device_operator<adaptive>());
  m.impl("adaptive_avg_pool2d.out", device_operator<adaptive_out>());
  m.impl("_adaptive_avg_pool2d_backward", device_operator<adaptive_backward>());
}

}  // namespace neuron_sim
