#pragma once
// Convolutions with random tensors and their gradients in double.

#include <functional>

#include "ops/conv2d/geometry.h"
#include "tests/ops/run_op.h"

namespace neuron_sim::conv2d_gradient_oracle {

struct Case {
  int64_t images = 1, channels = 1, height = 1, width = 1, filters = 1, kernel_h = 1, kernel_w = 1;
  Conv2dGeometry geometry{};
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> gradient_strides{}, input_strides{}, weight_strides{};

  int64_t output(size_t axis) const {
    const int64_t extent = axis == 0 ? height : width, kernel = axis == 0 ? kernel_h : kernel_w;
    return (extent + 2 * geometry.padding[axis] - geometry.dilation[axis] * (kernel - 1) - 1) /
               geometry.stride[axis] +
           1;
  }
  TensorSpec input() const { return {{images, channels, height, width}, input_strides, dtype}; }
  TensorSpec weight() const {
    return {{filters, channels / geometry.groups, kernel_h, kernel_w}, weight_strides, dtype};
  }
  TensorSpec gradient() const {
    return {{images, filters, output(0), output(1)}, gradient_strides, dtype};
  }
};

/// Cases of any geometry, dtype and strides that the gradients have in common.
inline std::vector<Case> geometries() {
  std::vector<Case> cases{{2, 3, 9, 11, 4, 3, 3}};
  for (const int64_t stride : {1, 2, 3, 4}) {
    for (const int64_t padding : {0, 1, 3}) {
      for (const int64_t dilation : {1, 2, 3}) {
        cases.push_back(cases.front());
        cases.back().geometry = {
            {stride, 3 - stride % 3}, {padding, 1}, {dilation, 3 - dilation + 1}, 1};
      }
    }
  }
  return cases;
}
inline const Case kKernels[] = {{1, 1, 1, 1, 1, 1, 1},
                                {3, 5, 7, 7, 6, 7, 7},
                                {3, 5, 7, 7, 6, 1, 1, {{2, 3}, {0, 0}, {1, 1}, 1}},
                                {2, 5, 4, 5, 6, 2, 1, {{9, 8}, {0, 0}, {1, 1}, 1}},
                                {2, 2, 4, 4, 3, 3, 3, {{1, 1}, {9, 5}, {1, 1}, 1}}};
inline const Case kGroups[] = {{2, 6, 5, 6, 9, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 3}},
                               {2, 8, 7, 7, 8, 3, 3, {{2, 1}, {1, 1}, {1, 2}, 8}},
                               {2, 150, 4, 4, 300, 3, 2, {{1, 1}, {1, 1}, {1, 1}, 50}},
                               {1, 260, 4, 4, 4, 1, 2, {{1, 1}, {1, 1}, {1, 1}, 2}}};

inline std::string describe_case(const Case& c) {
  const Conv2dGeometry& g = c.geometry;
  return text(describe("input", c.input()), " ", describe("weight", c.weight()), " stride ",
              g.stride[0], " ", g.stride[1], " padding ", g.padding[0], " ", g.padding[1],
              " dilation ", g.dilation[0], " ", g.dilation[1], " groups ", g.groups);
}

/// visit(gradient index, input index, weight index), row-major, for every product of the sums.
template <typename Visit>
void for_products(const Case& c, const Visit& visit) {
  const Conv2dGeometry& g = c.geometry;
  const int64_t depth = c.channels / g.groups, per_group = c.filters / g.groups;
  int64_t at = 0;
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t f = 0; f < c.filters; ++f) {
      for (int64_t y = 0; y < c.output(0); ++y) {
        for (int64_t x = 0; x < c.output(1); ++x, ++at) {
          for (int64_t tap = 0; tap < depth * c.kernel_h * c.kernel_w; ++tap) {
            const int64_t channel = f / per_group * depth + tap / (c.kernel_h * c.kernel_w);
            const int64_t row =
                y * g.stride[0] - g.padding[0] + tap / c.kernel_w % c.kernel_h * g.dilation[0];
            const int64_t column =
                x * g.stride[1] - g.padding[1] + tap % c.kernel_w * g.dilation[1];
            if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
            visit(at, ((n * c.channels + channel) * c.height + row) * c.width + column,
                  f * depth * c.kernel_h * c.kernel_w + tap);
          }
        }
      }
    }
  }
}

/// fp32 sums of `terms` products: at most terms * 2^-24 of the sum of magnitudes, then one
/// rounding.
inline void expect_sums(const std::vector<double>& actual, const std::vector<double>& exact,
                        const std::vector<double>& magnitude, int64_t terms, Dtype dtype) {
  const double rounding = dtype == Dtype::kFloat32 ? 0x1p-24 : unit_of(dtype);
  ASSERT_EQ(actual.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    const double bound =
        static_cast<double>(terms) * 0x1p-24 * magnitude[i] + rounding * std::abs(exact[i]) + 1e-30;
    ASSERT_NEAR(actual[i], exact[i], bound) << "element " << i << " of " << exact.size();
  }
}

}  // namespace neuron_sim::conv2d_gradient_oracle
