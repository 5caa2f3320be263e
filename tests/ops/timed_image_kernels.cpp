#include <optional>

#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/input_gradient.h"
#include "ops/conv2d/weight_gradient.h"
#include "ops/pooling/max_pool.h"
#include "ops/pooling/maxpool_activation_backward.h"
#include "ops/pooling/resample.h"
#include "tests/ops/draw_kernels.h"

namespace neuron_sim {
namespace {

std::string words_of(const Conv2dGeometry& geometry) {
  return text(" stride", words(geometry.stride), " padding", words(geometry.padding), " dilation",
              words(geometry.dilation), " groups ", geometry.groups);
}

struct DrawnConvolution {
  TensorSpec input, weight, bias, gradient;
  Conv2dGeometry geometry;
};

DrawnConvolution draw_convolution(Draw& draw) {
  constexpr int64_t kGroups[] = {1, 1, 1, 2, 8, 32};
  const Dtype dtype = draw.floating();
  Conv2dGeometry geometry{draw.pair(1, 2), draw.pair(0, 2), {1, 1}, draw.one_of(kGroups)};
  if (draw.one_in(4)) geometry.dilation = draw.pair(1, 3);
  const Pair kernel = draw.one_in(6) ? draw.pair(4, 7) : draw.pair(1, 3);
  const int64_t channels = draw.size(geometry.groups == 1 ? 300 : 20);
  const int64_t filters = draw.size(geometry.groups == 1 ? 300 : 20) * geometry.groups;
  const Pair image{draw.number(19, 60), draw.number(19, draw.one_in(5) ? 600 : 60)};
  Pair output{};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = geometry.dilation[i] * (kernel[i] - 1);
    output[i] = (image[i] + 2 * geometry.padding[i] - reach - 1) / geometry.stride[i] + 1;
  }
  const int64_t images = draw.size(9);
  return {draw.tensor({images, channels * geometry.groups, image[0], image[1]}, dtype),
          draw.tensor({filters, channels, kernel[0], kernel[1]}, dtype),
          {{filters}, {}, dtype},
          draw.tensor({images, filters, output[0], output[1]}, dtype),
          geometry};
}

void draw_convolutions(Draw& draw) {
  const DrawnConvolution c = draw_convolution(draw);
  Conv2dMaxpoolOptions options{.stride = c.geometry.stride,
                               .padding = c.geometry.padding,
                               .dilation = c.geometry.dilation,
                               .groups = c.geometry.groups,
                               .activation = draw.activation()};
  if (draw.one_in(2)) options.pool_kernel = draw.pair(1, 3);
  if (draw.one_in(2)) options.pool_stride = draw.pair(1, 3);
  if (draw.one_in(4)) options.output_dtype = Dtype::kFloat32;
  draw.add(text("conv2d_maxpool", words({c.input, c.weight}), words_of(c.geometry), " pool",
                words(options.pool_kernel), words(options.pool_stride), " ",
                name(options.activation), options.output_dtype ? " to float32" : ""),
           [=](const auto& chip) {
             return build_alone(kConv2dMaxpool, chip, {c.input, c.weight, c.bias}, options);
           });
  const DrawnConvolution d = draw_convolution(draw);
  draw.add(
      text("conv2d_input_gradient", words({d.gradient, d.weight}), words_of(d.geometry)),
      [=](const auto& chip) {
        return build_alone(kConv2dInputGradient, chip, {d.gradient, d.weight, d.input}, d.geometry);
      });
  const DrawnConvolution e = draw_convolution(draw);
  draw.add(
      text("conv2d_weight_gradient", words({e.gradient, e.input, e.weight}), words_of(e.geometry)),
      [=](const auto& chip) {
        return build_alone(kConv2dWeightGradient, chip, {e.gradient, e.input, e.weight},
                           e.geometry);
      });
}

void draw_maxpool_activation_backward(Draw& draw) {
  const Dtype dtype = draw.floating();
  const MaxpoolActivationOptions options{draw.pair(1, 3), draw.pair(1, 3), draw.activation()};
  const std::vector<int64_t> shape{draw.size(9), draw.size(200), draw.number(3, 90),
                                   draw.number(3, 90)};
  std::vector<int64_t> outer = shape;
  for (size_t i = 0; i < 2; ++i) {
    outer[i + 2] = (shape[i + 2] - options.pool_kernel[i]) / options.pool_stride[i] + 1;
  }
  const TensorSpec gradient = draw.tensor(outer, dtype);
  const TensorSpec sums = draw.tensor(shape, draw.one_in(2) ? Dtype::kFloat32 : dtype);
  draw.add(text("maxpool_activation_backward", words({gradient, sums}), " pool",
                words(options.pool_kernel), words(options.pool_stride), " ",
                name(options.activation)),
           [=](const auto& chip) {
             return build_alone(kMaxpoolActivationBackward, chip, {gradient, sums}, options);
           });
}

void draw_max_pool(Draw& draw) {
  const int64_t kernel = draw.number(1, 3), stride = draw.number(1, 3);
  const int64_t padding = draw.number(0, kernel / 2), dilation = draw.number(1, 2);
  const std::vector<int64_t> shape{draw.size(5), draw.size(200), draw.number(9, 70),
                                   draw.number(9, 70)};
  std::vector<int64_t> outer = shape;
  PoolingWindows windows;
  for (const bool is_row : {true, false}) {
    const int64_t extent = shape[is_row ? 2 : 3];
    const int64_t count = (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    outer[is_row ? 2 : 3] = count;
    (is_row ? windows.rows : windows.columns) =
        pooling_windows(extent, count, kernel, stride, padding, dilation);
  }
  const TensorSpec input = draw.tensor(shape, draw.floating());
  const TensorSpec output{outer, {}, input.dtype};
  std::vector<int64_t> words_of_indices = outer;
  words_of_indices.push_back(2);
  const TensorSpec indices{words_of_indices, {}, Dtype::kInt32};
  const std::string name = text(words({input}), " kernel ", kernel, " stride ", stride, " padding ",
                                padding, " dilation ", dilation);
  const EmitKernel forward = with_options(emit_max_pool, windows);
  const EmitKernel backward = with_options(emit_max_pool_backward, windows);
  draw.add("max_pool" + name, [=](const auto& chip) {
    return build_kernel(chip, forward, {input}, {output, indices});
  });
  draw.add("max_pool_backward" + name, [=](const auto& chip) {
    return build_kernel(chip, backward, {output, indices}, {input});
  });
}

void draw_resample(Draw& draw) {
  constexpr Interpolation kKinds[] = {Interpolation::kNearest, Interpolation::kLinear,
                                      Interpolation::kCubic};
  const auto kind = draw.number(0, 2);
  const int64_t height = draw.number(3, 90), width = draw.number(3, 90);
  const int64_t rows = draw.number(3, 120), columns = draw.number(3, 120);
  const Dtype dtype = draw.floating();
  const TensorSpec input = draw.tensor({draw.size(4), draw.size(200), height, width}, dtype);
  const TensorSpec output{{input.shape[0], input.shape[1], rows, columns}, {}, input.dtype};
  const bool averages = draw.one_in(3);
  const EmitKernel emit = [=](Builder& builder, auto operands, auto results) {
    const auto taps = [&](int64_t extent, int64_t outputs) {
      return averages ? adaptive_average_taps(extent, outputs)
                      : interpolation_taps(kKinds[kind], extent, outputs, false, 0);
    };
    emit_resample(builder, operands, results, {taps(height, rows), taps(width, columns)});
  };
  draw.add(text("resample ", averages ? "average" : text("interpolation ", kind),
                words({input, output})),
           [=](const auto& chip) { return build_kernel(chip, emit, {input}, {output}); });
}

}  // namespace

void draw_image_kernels(Draw& draw) {
  draw_convolutions(draw);
  draw_maxpool_activation_backward(draw);
  draw_max_pool(draw);
  draw_resample(draw);
}

}  // namespace neuron_sim
