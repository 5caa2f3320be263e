// Pooling of volumes: planes first, then along the depth, with the kernels for images.

#include <ATen/TensorOperators.h>
#include <ATen/native/Pool.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_adaptive_avg_pool2d.h>
#include <ATen/ops/_adaptive_avg_pool2d_backward.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalDivisor = std::optional<int64_t>;

void check_pooled_volume(const Tensor& self) {
  check_computable(self.scalar_type());
  if (!self.is_floating_point()) throw Refusal{"the device pools floating dtypes"};
  TORCH_CHECK(self.dim() == 4 || self.dim() == 5,
              "non-empty 4D or 5D (batch mode) tensor expected "
              "for input, but got: ",
              self.sizes());
  if (self.numel() == 0) throw Refusal{"there are no elements"};
}

/// [N, C, D, H, W] as planes [N C, D, H, W].
struct Volume {
  int64_t count, depth, height, width;
  explicit Volume(const Tensor& self)
      : count(self.numel() / (self.size(-1) * self.size(-2) * self.size(-3))),
        depth(self.size(-3)),
        height(self.size(-2)),
        width(self.size(-1)) {}
  at::DimVector planes() const { return {count, depth, height, width}; }
};

at::DimVector with_volume(const Tensor& self, int64_t depth, int64_t height, int64_t width) {
  at::DimVector shape(self.sizes());
  shape[shape.size() - 3] = depth;
  shape[shape.size() - 2] = height;
  shape[shape.size() - 1] = width;
  return shape;
}

/// One number per axis where one was given for all.
struct Pooling {
  using Three = std::array<int64_t, 3>;
  Three kernel, stride, padding, dilation;
  bool ceil;

  Pooling(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
          bool ceil)
      : kernel(three(kernel)),
        stride(stride.empty() ? three(kernel) : three(stride)),
        padding(three(padding)),
        dilation(three(dilation)),
        ceil(ceil) {}
  static Three three(IntArrayRef values) {
    return values.size() == 1 ? Three{values[0], values[0], values[0]}
                              : Three{values[0], values[1], values[2]};
  }
  static IntArrayRef plane(const Three& values) { return {values.data() + 1, 2}; }
  int64_t size(size_t axis, int64_t input) const {
    return at::native::pooling_output_shape(input, kernel[axis], padding[axis], stride[axis],
                                            dilation[axis], ceil);
  }
};

/// Elements in each window of one axis.
Tensor window_sizes(const Pooling& pooling, size_t axis, int64_t input, bool count_padding) {
  const int64_t count = pooling.size(axis, input);
  Tensor sizes = at::ones({count}, at::TensorOptions().dtype(at::kFloat));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = i * pooling.stride[axis] - pooling.padding[axis];
    const int64_t end = std::min(start + pooling.kernel[axis], input + pooling.padding[axis]);
    const int64_t inside = std::min(end, input) - std::max<int64_t>(start, 0);
    sizes.data_ptr<float>()[i] = static_cast<float>(count_padding ? end - start : inside);
  }
  return sizes;
}

/// 1 / the number of elements of every window, [D, H, W] on the device.
Tensor shares(const Tensor& self, const Pooling& pooling, bool count_padding,
              OptionalDivisor divisor) {
  const Volume volume(self);
  TORCH_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (divisor) return at::full({}, 1.0 / static_cast<double>(*divisor), options).to(self.device());
  const Tensor counts = window_sizes(pooling, 0, volume.depth, count_padding).view({-1, 1, 1}) *
                        window_sizes(pooling, 1, volume.height, count_padding).view({-1, 1}) *
                        window_sizes(pooling, 2, volume.width, count_padding);
  return counts.reciprocal().to(self.device());
}

Tensor& average_out(const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                    bool ceil, bool count_padding, OptionalDivisor divisor, Tensor& out) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Pooling pooling(kernel, stride, padding, {1}, ceil);
  const Volume volume(self);
  const Tensor planes = at::avg_pool2d(
      self.to(at::kFloat).reshape(volume.planes()), Pooling::plane(pooling.kernel),
      Pooling::plane(pooling.stride), Pooling::plane(pooling.padding), ceil, true, 1);
  const Tensor sums =
      at::avg_pool2d(planes.view({volume.count, volume.depth, -1}), {pooling.kernel[0], 1},
                     {pooling.stride[0], 1}, {pooling.padding[0], 0}, ceil, true, 1);
  const at::DimVector shape = with_volume(self, sums.size(1), planes.size(2), planes.size(3));
  return give_result(sums.view(shape) * shares(self, pooling, count_padding, divisor), out);
}

Tensor& average_backward_out(const Tensor& gradient, const Tensor& self, IntArrayRef kernel,
                             IntArrayRef stride, IntArrayRef padding, bool ceil, bool count_padding,
                             OptionalDivisor divisor, Tensor& out) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Pooling pooling(kernel, stride, padding, {1}, ceil);
  const Volume volume(self), pooled(gradient);
  const auto options = self.options().dtype(at::kFloat);
  const int64_t plane = pooled.height * pooled.width;
  const Tensor shared = gradient.to(at::kFloat) * shares(self, pooling, count_padding, divisor);
  const Tensor depth = at::avg_pool2d_backward(
      shared.reshape({volume.count, pooled.depth, plane}),
      at::empty({volume.count, volume.depth, plane}, options), {pooling.kernel[0], 1},
      {pooling.stride[0], 1}, {pooling.padding[0], 0}, ceil, true, 1);
  const Tensor result = at::avg_pool2d_backward(
      depth.view({volume.count, volume.depth, pooled.height, pooled.width}),
      at::empty(volume.planes(), options), Pooling::plane(pooling.kernel),
      Pooling::plane(pooling.stride), Pooling::plane(pooling.padding), ceil, true, 1);
  at::native::resize_output(out, self.sizes());
  return out.copy_(result.view(self.sizes()));
}

/// Maxima of planes and then of the depth; places [N C, D H W] from the places of both.
std::tuple<Tensor, Tensor> maxima(const Tensor& self, const std::tuple<Tensor, Tensor>& planes,
                                  const std::tuple<Tensor, Tensor>& depths) {
  const Volume volume(self);
  const auto& [plane_values, plane_places] = planes;
  const auto& [values, depth_places] = depths;
  const int64_t height = plane_values.size(2), width = plane_values.size(3);
  const at::DimVector shape = with_volume(self, values.size(1), height, width);
  const Tensor flat = depth_places.reshape({volume.count, -1});
  const Tensor inside = plane_places.reshape({volume.count, -1}).gather(1, flat);
  const Tensor depth = flat.div(height * width, "floor");
  const Tensor places = depth * (volume.height * volume.width) + inside;
  return {values.reshape(shape), places.view(shape)};
}

std::tuple<Tensor, Tensor> maximum(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                                   IntArrayRef padding, IntArrayRef dilation, bool ceil) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Pooling pooling(kernel, stride, padding, dilation, ceil);
  const Volume volume(self);
  const auto planes = at::max_pool2d_with_indices(
      self.reshape(volume.planes()), Pooling::plane(pooling.kernel), Pooling::plane(pooling.stride),
      Pooling::plane(pooling.padding), Pooling::plane(pooling.dilation), ceil);
  const auto depths = at::max_pool2d_with_indices(
      std::get<0>(planes).reshape({volume.count, volume.depth, -1}), {pooling.kernel[0], 1},
      {pooling.stride[0], 1}, {pooling.padding[0], 0}, {pooling.dilation[0], 1}, ceil);
  return maxima(self, planes, depths);
}

void give(const std::tuple<Tensor, Tensor>& found, Tensor& values, Tensor& places) {
  give_result(std::get<0>(found), values);
  give_result(std::get<1>(found), places);
}

std::tuple<Tensor&, Tensor&> maximum_out(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                                         IntArrayRef padding, IntArrayRef dilation, bool ceil,
                                         Tensor& values, Tensor& places) {
  give(maximum(self, kernel, stride, padding, dilation, ceil), values, places);
  return std::tie(values, places);
}

/// Adds every gradient where its maximum was, in fp32.
Tensor spread(const Tensor& gradient, const Tensor& self, const Tensor& places) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Volume volume(self);
  const Tensor zeros = at::zeros({volume.count, volume.depth * volume.height * volume.width},
                                 self.options().dtype(at::kFloat));
  const Tensor sums = zeros.scatter_add(1, places.reshape({volume.count, -1}),
                                        gradient.to(at::kFloat).reshape({volume.count, -1}));
  return sums.view(self.sizes()).to(self.scalar_type());
}

Tensor maximum_backward(const Tensor& gradient, const Tensor& self, IntArrayRef /*kernel*/,
                        IntArrayRef /*stride*/, IntArrayRef /*padding*/, IntArrayRef /*dilation*/,
                        bool /*ceil*/, const Tensor& places) {
  return spread(gradient, self, places);
}

std::tuple<Tensor&, Tensor&> adaptive_maximum_out(const Tensor& self, IntArrayRef size,
                                                  Tensor& values, Tensor& places) {
  check_pooled_volume(self);
  TORCH_CHECK(size.size() == 3, "adaptive_max_pool3d(): internal error: Expected ",
              "'output_size.size() == 3'");
  const c10::DeviceGuard guard(self.device());
  const Volume volume(self);
  if (c10::multiply_integers(size) == 0) {
    const at::DimVector empty = with_volume(self, size[0], size[1], size[2]);
    at::native::resize_output(values, empty);
    at::native::resize_output(places, empty);
    return std::tie(values, places);
  }
  const auto planes =
      at::adaptive_max_pool2d(self.reshape(volume.planes()), size.slice(size.size() - 2));
  const Tensor rows = std::get<0>(planes).reshape({volume.count, volume.depth, -1});
  give(maxima(self, planes, at::adaptive_max_pool2d(rows, {size[0], rows.size(2)})), values,
       places);
  return std::tie(values, places);
}

Tensor& adaptive_maximum_backward_out(const Tensor& gradient, const Tensor& self,
                                      const Tensor& places, Tensor& out) {
  at::native::resize_output(out, self.sizes());
  return out.copy_(spread(gradient, self, places));
}

Tensor adaptive_average(const Tensor& self, c10::SymIntArrayRef size) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Volume volume(self);
  const int64_t depth = size[0].expect_int(), height = size[1].expect_int(),
                width = size[2].expect_int();
  if (depth * height * width == 0) {
    return at::empty(with_volume(self, depth, height, width), self.options());
  }
  const Tensor planes =
      at::_adaptive_avg_pool2d(self.to(at::kFloat).reshape(volume.planes()), {height, width});
  const Tensor result = at::_adaptive_avg_pool2d(
      planes.view({volume.count, volume.depth, height * width}), {depth, height * width});
  return result.view(with_volume(self, depth, height, width)).to(self.scalar_type());
}

Tensor adaptive_average_backward(const Tensor& gradient, const Tensor& self) {
  check_pooled_volume(self);
  const c10::DeviceGuard guard(self.device());
  const Volume volume(self), pooled(gradient);
  const auto options = self.options().dtype(at::kFloat);
  const int64_t plane = pooled.height * pooled.width;
  const Tensor depth = at::_adaptive_avg_pool2d_backward(
      gradient.to(at::kFloat).reshape({volume.count, pooled.depth, plane}),
      at::empty({volume.count, volume.depth, plane}, options));
  const Tensor result = at::_adaptive_avg_pool2d_backward(
      depth.view({volume.count, volume.depth, pooled.height, pooled.width}),
      at::empty(volume.planes(), options));
  return result.view(self.sizes()).to(self.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("avg_pool3d.out", device_operator<average_out>());
  m.impl("avg_pool3d_backward.grad_input", device_operator<average_backward_out>());
  m.impl("max_pool3d_with_indices", device_operator<maximum>());
  m.impl("max_pool3d_with_indices.out", device_operator<maximum_out>());
  m.impl("max_pool3d_with_indices_backward", device_operator<maximum_backward>());
  m.impl("adaptive_max_pool3d.out", device_operator<adaptive_maximum_out>());
  m.impl("adaptive_max_pool3d_backward.grad_input",
         device_operator<adaptive_maximum_backward_out>());
  m.impl("_adaptive_avg_pool3d", device_operator<adaptive_average>());
  m.impl("_adaptive_avg_pool3d_backward", device_operator<adaptive_average_backward>());
}

}  // namespace neuron_sim
