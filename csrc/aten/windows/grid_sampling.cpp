// grid_sample of images and volumes: every point is a weighted sum of the rows (channels) of its
// neighbours, which are gathered corner by corner. Nearest and linear.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include <array>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

enum Interpolation : int64_t { kLinear = 0, kNearest = 1, kCubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

/// Places along one axis [points], and their slopes over the grid's numbers.
struct Coordinate {
  Tensor place, slope;
};

/// Mirrored at low and at high, as often as needed.
Coordinate reflected(const Coordinate& at, double low, double high) {
  const double span = high - low;
  if (span == 0) return {at::zeros_like(at.place), at::zeros_like(at.place)};
  const Tensor below = at.place.lt(low);
  const Tensor turn = (at.place - low).abs().fmod(2 * span);
  const Tensor back = turn.gt(span);
  const Tensor slope = at::where(below.ne(back), -at.slope, at.slope);
  return {at::where(back, turn * -1.0 + 2 * span, turn) + low, slope};
}

Coordinate coordinate(const Tensor& grid, int64_t size, int64_t padding, bool aligned) {
  const double scale = static_cast<double>(aligned ? size - 1 : size) / 2;
  const double last = static_cast<double>(size - 1);
  Coordinate at{(grid + 1.0) * scale - (aligned ? 0.0 : 0.5), at::ones_like(grid) * scale};
  if (padding == kZeros) return at;
  if (padding == kReflection) at = reflected(at, aligned ? 0 : -0.5, aligned ? last : last + 0.5);
  const Tensor inside = at.place.gt(0).logical_and(at.place.lt(last));
  return {at.place.clamp(0, last), at::where(inside, at.slope, at::zeros_like(at.slope))};
}

/// The points of a grid: along each axis the lower neighbour and the distance from it.
struct Points {
  Tensor rows;                ///< int32 [N, points]: the first row of each image
  std::vector<int64_t> size;  ///< of each axis: depth (if any), height, width
  std::vector<Tensor> low, part, slope;
  bool nearest;

  size_t axes() const { return size.size(); }
  size_t corners() const { return nearest ? 1 : size_t{1} << axes(); }
};

Points points_of(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                 bool aligned) {
  check_computable(input.scalar_type());
  if (!input.is_floating_point()) throw Refusal{"the device interpolates floating dtypes"};
  TORCH_CHECK(mode >= kLinear && mode <= kCubic,
              "grid_sampler(): expected interpolation_mode to be 0, 1 or 2, but got ", mode);
  TORCH_CHECK(padding >= kZeros && padding <= kReflection,
              "grid_sampler(): expected padding_mode to be 0, 1 or 2, but got ", padding);
  TORCH_CHECK(input.scalar_type() == grid.scalar_type(), "expected scalar type ",
              input.scalar_type(), " but found ", grid.scalar_type());
  TORCH_CHECK(input.size(0) == grid.size(0),
              "grid_sampler(): expected grid and input to have same ",
              "batch size, but got input with sizes ", input.sizes(), " and grid with sizes ",
              grid.sizes());
  TORCH_CHECK(grid.size(-1) == input.dim() - 2, "grid_sampler(): expected grid to have size ",
              input.dim() - 2, " in last dimension, but got grid with sizes ", grid.sizes());
  if (mode != kLinear && mode != kNearest) throw Refusal{"cubic samples of a grid have no kernel"};
  if (input.numel() == 0 || grid.numel() == 0) throw Refusal{"there are no elements"};
  Points points;
  points.nearest = mode == kNearest;
  const int64_t axes = input.dim() - 2, images = input.size(0);
  const Tensor numbers = grid.to(at::kFloat).reshape({images, -1, axes});
  for (int64_t axis = 0; axis < axes; ++axis) {
    const int64_t size = input.size(axis + 2);
    const Coordinate at =
        coordinate(numbers.select(2, axes - 1 - axis).contiguous(), size, padding, aligned);
    const Tensor low = points.nearest ? at.place.round() : at.place.floor();
    points.size.push_back(size);
    points.part.push_back(at.place - low);
    points.low.push_back(low);
    points.slope.push_back(at.slope);
  }
  const int64_t rows = input.numel() / (images * input.size(1));
  points.rows = (at::arange(images, at::TensorOptions().dtype(at::kInt)).to(input.device()) * rows)
                    .view({images, 1});
  return points;
}

/// One neighbour of every point.
struct Corner {
  Tensor rows;                  ///< int32 [N points]: of the table
  Tensor inside;                ///< [N, points]: 1 or 0
  std::vector<Tensor> weights;  ///< [N, points] along each axis; empty for nearest
};

Corner corner_of(const Points& points, size_t corner) {
  Corner result;
  Tensor row, inside;
  for (size_t axis = 0; axis < points.axes(); ++axis) {
    const bool upper = ((corner >> axis) & 1u) != 0;
    const Tensor place = upper ? points.low[axis] + 1.0 : points.low[axis];
    const double last = static_cast<double>(points.size[axis] - 1);
    const Tensor found = place.ge(0).logical_and(place.le(last));
    inside = inside.defined() ? inside.logical_and(found) : found;
    const Tensor index = at::where(found, place, at::zeros_like(place)).to(at::kInt);
    row = row.defined() ? row * points.size[axis] + index : index;
    const Tensor part = points.part[axis];
    if (!points.nearest) result.weights.push_back(upper ? part : part * -1.0 + 1.0);
  }
  result.rows = (row + points.rows).reshape(-1);
  result.inside = inside.to(at::kFloat);
  return result;
}

/// The product of the weights, except axis `without`, and whether the corner is inside.
Tensor weight_of(const Corner& corner, size_t without) {
  Tensor product = corner.inside;
  for (size_t axis = 0; axis < corner.weights.size(); ++axis) {
    if (axis != without) product = product * corner.weights[axis];
  }
  return product;
}

constexpr size_t kNone = static_cast<size_t>(-1);

/// [N, C, ...] as rows [N ..., C] in fp32, and back.
Tensor as_rows(const Tensor& tensor) {
  return tensor.to(at::kFloat).movedim(1, -1).reshape({-1, tensor.size(1)});
}
Tensor from_rows(const Tensor& rows, at::IntArrayRef shape) {
  at::DimVector moved(shape);
  moved.erase(moved.begin() + 1);
  moved.push_back(shape[1]);
  return rows.view(moved).movedim(-1, 1).contiguous();
}

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                    bool aligned) {
  const c10::DeviceGuard guard(input.device());
  const Points points = points_of(input, grid, mode, padding, aligned);
  const Tensor table = as_rows(input);
  Tensor sums;
  for (size_t i = 0; i < points.corners(); ++i) {
    const Corner corner = corner_of(points, i);
    const Tensor part =
        table.index_select(0, corner.rows) * weight_of(corner, kNone).reshape({-1, 1});
    sums = sums.defined() ? sums + part : part;
  }
  at::DimVector shape(grid.sizes());
  shape.pop_back();
  shape.insert(shape.begin() + 1, input.size(1));
  return from_rows(sums, shape).to(input.scalar_type());
}

/// The slope of the sum over one axis: its weight's slope times the incoming gradient's part.
Tensor grid_gradient(const Points& points, const Tensor& incoming, const Tensor& table) {
  std::vector<Tensor> slopes(points.axes());
  for (size_t i = 0; i < points.corners() && !points.nearest; ++i) {
    const Corner corner = corner_of(points, i);
    const Tensor along = (incoming * table.index_select(0, corner.rows)).sum(1);
    for (size_t axis = 0; axis < points.axes(); ++axis) {
      const double sign = ((i >> axis) & 1u) != 0 ? 1.0 : -1.0;
      const Tensor part = along.view_as(corner.inside) * weight_of(corner, axis) * sign;
      slopes[axis] = slopes[axis].defined() ? slopes[axis] + part : part;
    }
  }
  std::vector<Tensor> numbers;  // the grid names the last axis first
  for (size_t axis = points.axes(); axis-- > 0;) {
    numbers.push_back(points.nearest ? at::zeros_like(points.slope[axis])
                                     : slopes[axis] * points.slope[axis]);
  }
  return at::stack(numbers, -1);
}

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& gradient, const Tensor& input,
                                                 const Tensor& grid, int64_t mode, int64_t padding,
                                                 bool aligned, std::array<bool, 2> wanted) {
  const c10::DeviceGuard guard(input.device());
  const Points points = points_of(input, grid, mode, padding, aligned);
  const Tensor incoming = as_rows(gradient), table = as_rows(input);
  Tensor of_input, of_grid;
  if (wanted[0]) {
    Tensor sums = at::zeros_like(table);
    for (size_t i = 0; i < points.corners(); ++i) {
      const Corner corner = corner_of(points, i);
      sums = sums.index_add(0, corner.rows, incoming * weight_of(corner, kNone).reshape({-1, 1}));
    }
    of_input = from_rows(sums, input.sizes()).to(input.scalar_type());
  }
  if (wanted[1]) {
    of_grid = grid_gradient(points, incoming, table).view(grid.sizes()).to(grid.scalar_type());
  }
  return {of_input, of_grid};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("grid_sampler_2d", device_operator<grid_sampler>());
  m.impl("grid_sampler_3d", device_operator<grid_sampler>());
  m.impl("grid_sampler_2d_backward", device_operator<grid_sampler_backward>());
  m.impl("grid_sampler_3d_backward", device_operator<grid_sampler_backward>());
}

}  // namespace neuron_sim
