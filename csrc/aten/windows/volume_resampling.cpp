// Interpolation of volumes: planes first, then along the depth, with the kernels for images.

#include <ATen/native/Resize.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_bilinear2d_backward.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest2d_backward.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Scale = std::optional<double>;

enum class Mode : uint8_t { kNearest, kNearestExact, kLinear };

/// One image of [N, C, H, W] after another, and its gradient.
Tensor resize(Mode mode, const Tensor& images, IntArrayRef size, bool aligned, Scale down,
              Scale across) {
  switch (mode) {
    case Mode::kNearest: return at::upsample_nearest2d(images, size, down, across);
    case Mode::kNearestExact: return at::_upsample_nearest_exact2d(images, size, down, across);
    default: return at::upsample_bilinear2d(images, size, aligned, down, across);
  }
}

Tensor resize_backward(Mode mode, const Tensor& gradient, IntArrayRef shape, bool aligned,
                       Scale down, Scale across) {
  const IntArrayRef size = gradient.sizes().slice(2);
  switch (mode) {
    case Mode::kNearest:
      return at::upsample_nearest2d_backward(gradient, size, shape, down, across);
    case Mode::kNearestExact:
      return at::_upsample_nearest_exact2d_backward(gradient, size, shape, down, across);
    default: return at::upsample_bilinear2d_backward(gradient, size, shape, aligned, down, across);
  }
}

void check_interpolated(const Tensor& tensor) {
  check_computable(tensor.scalar_type());
  if (!tensor.is_floating_point()) throw Refusal{"the device interpolates floating dtypes"};
  if (tensor.numel() == 0) throw Refusal{"there are no elements"};
}

/// In fp32, rounded once to a reduced precision.
Tensor& volume_out(Mode mode, const Tensor& self, c10::SymIntArrayRef size, bool aligned,
                   Scale deep, Scale down, Scale across, Tensor& out) {
  check_interpolated(self);
  const c10::DeviceGuard guard(self.device());
  const int64_t depth = size[0].expect_int(), height = size[1].expect_int(),
                width = size[2].expect_int();
  const int64_t count = self.size(0) * self.size(1);
  const Tensor volume = self.to(at::kFloat).reshape({count, self.size(2), self.size(3), -1});
  const Tensor planes = resize(mode, volume, {height, width}, aligned, down, across);
  const Tensor rows = planes.reshape({1, count, self.size(2), height * width});
  const Tensor result = resize(mode, rows, {depth, height * width}, aligned, deep, std::nullopt)
                            .reshape({self.size(0), self.size(1), depth, height, width});
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

Tensor& volume_backward_out(Mode mode, const Tensor& gradient, c10::SymIntArrayRef shape,
                            bool aligned, Scale deep, Scale down, Scale across, Tensor& out) {
  check_interpolated(gradient);
  const c10::DeviceGuard guard(gradient.device());
  at::DimVector input;
  for (const c10::SymInt& size : shape) input.push_back(size.expect_int());
  const int64_t count = input[0] * input[1];
  const int64_t height = gradient.size(3), width = gradient.size(4);
  const Tensor rows = gradient.to(at::kFloat).reshape({1, count, gradient.size(2), height * width});
  const Tensor depths = resize_backward(mode, rows, {1, count, input[2], height * width}, aligned,
                                        deep, std::nullopt);
  const Tensor planes = depths.reshape({count, input[2], height, width});
  const Tensor result =
      resize_backward(mode, planes, {count, input[2], input[3], input[4]}, aligned, down, across);
  at::native::resize_output(out, input);
  return out.copy_(result.view(input));
}

Tensor& linear_out(const Tensor& self, c10::SymIntArrayRef size, bool aligned, Scale deep,
                   Scale down, Scale across, Tensor& out) {
  return volume_out(Mode::kLinear, self, size, aligned, deep, down, across, out);
}

Tensor& linear_backward_out(const Tensor& gradient, c10::SymIntArrayRef /*size*/,
                            c10::SymIntArrayRef shape, bool aligned, Scale deep, Scale down,
                            Scale across, Tensor& out) {
  return volume_backward_out(Mode::kLinear, gradient, shape, aligned, deep, down, across, out);
}

template <Mode mode>
Tensor& nearest_out(const Tensor& self, c10::SymIntArrayRef size, Scale deep, Scale down,
                    Scale across, Tensor& out) {
  return volume_out(mode, self, size, false, deep, down, across, out);
}

template <Mode mode>
Tensor& nearest_backward_out(const Tensor& gradient, c10::SymIntArrayRef /*size*/,
                             c10::SymIntArrayRef shape, Scale deep, Scale down, Scale across,
                             Tensor& out) {
  return volume_backward_out(mode, gradient, shape, false, deep, down, across, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("upsample_trilinear3d.out", device_operator<linear_out>());
  m.impl("upsample_trilinear3d_backward.grad_input", device_operator<linear_backward_out>());
  m.impl("upsample_nearest3d.out", device_operator<nearest_out<Mode::kNearest>>());
  m.impl("upsample_nearest3d_backward.grad_input",
         device_operator<nearest_backward_out<Mode::kNearest>>());
  m.impl("_upsample_nearest_exact3d.out", device_operator<nearest_out<Mode::kNearestExact>>());
  m.impl("_upsample_nearest_exact3d_backward.grad_input",
         device_operator<nearest_backward_out<Mode::kNearestExact>>());
}

}  // namespace neuron_sim
