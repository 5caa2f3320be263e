// Interpolation of planes and of rows: nearest, linear and cubic, and their gradients. Samples at
// the points of a grid.

#include <torch/library.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/windows/planes.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using Scale = std::optional<double>;
using Sizes = c10::SymIntArrayRef;

AxisTaps taps_of(Interpolation kind, int64_t extent, int64_t outputs, bool align_corners,
                 Scale scale) {
  return interpolation_taps(kind, extent, outputs, align_corners, scale.value_or(0));
}

/// A row is a plane of height 1.
Tensor rows_as_planes(const Tensor& tensor) {
  planes_of(tensor);
  return tensor.unsqueeze(2);
}

const AxisTaps& single_row() {
  static const AxisTaps taps{{{0, 1}}};
  return taps;
}

void interpolate_plane(Interpolation kind, const Tensor& self, Sizes sizes, bool align_corners,
                       Scale height, Scale width, const Tensor& out) {
  const Tensor planes = planes_of(self);
  const int64_t rows = sizes[0].expect_int(), columns = sizes[1].expect_int();
  resize_planes(out, {self.size(0), self.size(1), rows, columns});
  launch_resample(planes, out,
                  {taps_of(kind, self.size(2), rows, align_corners, height),
                   taps_of(kind, self.size(3), columns, align_corners, width)});
}

void plane_gradient(Interpolation kind, const Tensor& gradient, Sizes sizes, Sizes input,
                    bool align_corners, Scale height, Scale width, const Tensor& result) {
  const Tensor planes = planes_of(gradient);
  const at::DimVector extents{input[0].expect_int(), input[1].expect_int(), input[2].expect_int(),
                              input[3].expect_int()};
  resize_planes(result, extents);
  const AxisTaps rows = taps_of(kind, extents[2], sizes[0].expect_int(), align_corners, height);
  const AxisTaps columns = taps_of(kind, extents[3], sizes[1].expect_int(), align_corners, width);
  launch_resample(planes, result,
                  {transposed_taps(rows, extents[2]), transposed_taps(columns, extents[3])});
}

void interpolate_row(Interpolation kind, const Tensor& self, Sizes sizes, bool align_corners,
                     Scale scale, const Tensor& out) {
  const Tensor planes = rows_as_planes(self);
  const int64_t columns = sizes[0].expect_int();
  resize_planes(out, {self.size(0), self.size(1), columns});
  launch_resample(planes, out.unsqueeze(2),
                  {single_row(), taps_of(kind, self.size(2), columns, align_corners, scale)});
}

void row_gradient(Interpolation kind, const Tensor& gradient, Sizes sizes, Sizes input,
                  bool align_corners, Scale scale, const Tensor& result) {
  const Tensor planes = rows_as_planes(gradient);
  const int64_t extent = input[2].expect_int();
  resize_planes(result, {input[0].expect_int(), input[1].expect_int(), extent});
  const AxisTaps columns = taps_of(kind, extent, sizes[0].expect_int(), align_corners, scale);
  launch_resample(planes, result.unsqueeze(2), {single_row(), transposed_taps(columns, extent)});
}

template <Interpolation kind>
Tensor& nearest_plane_out(const Tensor& self, Sizes sizes, Scale height, Scale width, Tensor& out) {
  interpolate_plane(kind, self, sizes, false, height, width, out);
  return out;
}
template <Interpolation kind>
Tensor& nearest_plane_backward_out(const Tensor& gradient, Sizes sizes, Sizes input, Scale height,
                                   Scale width, Tensor& result) {
  plane_gradient(kind, gradient, sizes, input, false, height, width, result);
  return result;
}
template <Interpolation kind>
Tensor& smooth_plane_out(const Tensor& self, Sizes sizes, bool align_corners, Scale height,
                         Scale width, Tensor& out) {
  interpolate_plane(kind, self, sizes, align_corners, height, width, out);
  return out;
}
template <Interpolation kind>
Tensor& smooth_plane_backward_out(const Tensor& gradient, Sizes sizes, Sizes input,
                                  bool align_corners, Scale height, Scale width, Tensor& result) {
  plane_gradient(kind, gradient, sizes, input, align_corners, height, width, result);
  return result;
}
template <Interpolation kind>
Tensor& nearest_row_out(const Tensor& self, Sizes sizes, Scale scale, Tensor& out) {
  interpolate_row(kind, self, sizes, false, scale, out);
  return out;
}
template <Interpolation kind>
Tensor& nearest_row_backward_out(const Tensor& gradient, Sizes sizes, Sizes input, Scale scale,
                                 Tensor& result) {
  row_gradient(kind, gradient, sizes, input, false, scale, result);
  return result;
}
Tensor& linear_row_out(const Tensor& self, Sizes sizes, bool align_corners, Scale scale,
                       Tensor& out) {
  interpolate_row(Interpolation::kLinear, self, sizes, align_corners, scale, out);
  return out;
}
Tensor& linear_row_backward_out(const Tensor& gradient, Sizes sizes, Sizes input,
                                bool align_corners, Scale scale, Tensor& result) {
  row_gradient(Interpolation::kLinear, gradient, sizes, input, align_corners, scale, result);
  return result;
}

/// Samples at the points of a grid on the CPU, whose kernel leaves the result unwritten where it
/// does not know a mode. RuntimeError for such a mode.
void sample_grid(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    if (name != "interpolation_mode" && name != "padding_mode") continue;
    const int64_t mode = torch::jit::peek(*stack, i, arguments.size()).toInt();
    TORCH_CHECK(mode >= 0 && mode <= 2, "neuron_sim: operator '", op.operator_name(), "': ", name,
                " is ", mode, ", but the modes are 0, 1 and 2");
  }
  fall_back(op, stack, "");
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  constexpr Interpolation kNearest = Interpolation::kNearest;
  constexpr Interpolation kExact = Interpolation::kNearestExact;
  constexpr Interpolation kLinear = Interpolation::kLinear, kCubic = Interpolation::kCubic;
  m.impl("upsample_nearest2d.out", device_operator<nearest_plane_out<kNearest>>());
  m.impl("_upsample_nearest_exact2d.out", device_operator<nearest_plane_out<kExact>>());
  m.impl("upsample_bilinear2d.out", device_operator<smooth_plane_out<kLinear>>());
  m.impl("upsample_bicubic2d.out", device_operator<smooth_plane_out<kCubic>>());
  m.impl("upsample_nearest1d.out", device_operator<nearest_row_out<kNearest>>());
  m.impl("_upsample_nearest_exact1d.out", device_operator<nearest_row_out<kExact>>());
  m.impl("upsample_linear1d.out", device_operator<linear_row_out>());
  m.impl("upsample_nearest2d_backward.grad_input",
         device_operator<nearest_plane_backward_out<kNearest>>());
  m.impl("_upsample_nearest_exact2d_backward.grad_input",
         device_operator<nearest_plane_backward_out<kExact>>());
  m.impl("upsample_bilinear2d_backward.grad_input",
         device_operator<smooth_plane_backward_out<kLinear>>());
  m.impl("upsample_bicubic2d_backward.grad_input",
         device_operator<smooth_plane_backward_out<kCubic>>());
  m.impl("upsample_nearest1d_backward.grad_input",
         device_operator<nearest_row_backward_out<kNearest>>());
  m.impl("_upsample_nearest_exact1d_backward.grad_input",
         device_operator<nearest_row_backward_out<kExact>>());
  m.impl("upsample_linear1d_backward.grad_input", device_operator<linear_row_backward_out>());
  for (const char* name : {"grid_sampler_2d", "grid_sampler_3d", "grid_sampler_2d_backward",
                           "grid_sampler_3d_backward"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&sample_grid>());
  }
}

}  // namespace neuron_sim
