// Simulated time of the kernels of a convolution's backward pass, against the forward pass.

#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/conv2d/input_gradient.h"
#include "ops/conv2d/weight_gradient.h"
#include "ops/pooling/maxpool_activation_backward.h"
#include "tests/ops/run_op.h"

namespace neuron_sim {
namespace {

struct Times {
  double forward, sums, pooling, input, weight;
};

/// A convolution of 128 channels with 128 filters of 3 x 3 on 16 images of 32 x 16.
Times times(const Architecture& architecture, Dtype dtype, std::array<int64_t, 2> pool,
            Activation activation) {
  const TensorSpec input{{16, 128, 32, 16}, {}, dtype}, weight{{128, 128, 3, 3}, {}, dtype};
  const TensorSpec bias{{128}, {}, dtype}, inner{{16, 128, 32, 16}, {}, dtype};
  const TensorSpec sums{{16, 128, 32, 16}, {}, dtype};
  const TensorSpec outer{{16, 128, 32 / pool[0], 16 / pool[1]}, {}, dtype};
  const Conv2dGeometry geometry{.padding = {1, 1}};
  const auto forward = [&](const Conv2dMaxpoolOptions& options) {
    return simulated_microseconds(
        build_alone(kConv2dMaxpool, architecture, {input, weight, bias}, options));
  };
  return {
      forward(
          {.pool_kernel = pool, .pool_stride = pool, .padding = {1, 1}, .activation = activation}),
      forward({.padding = {1, 1}}),
      simulated_microseconds(build_alone(kMaxpoolActivationBackward, architecture, {outer, sums},
                                         {pool, pool, activation})),
      simulated_microseconds(
          build_alone(kConv2dInputGradient, architecture, {inner, weight, input}, geometry)),
      simulated_microseconds(
          build_alone(kConv2dWeightGradient, architecture, {inner, input, weight}, geometry))};
}

TEST(Conv2dBackwardTime, IsAFewTimesTheForwardPass) {
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
      SCOPED_TRACE(text(name, " ", neuron_sim::name(dtype)));
      const Times plain = times(load_architecture(name), dtype, {2, 2}, Activation::kRelu);
      // Where only Vector transposes exactly, transposes take most of the time.
      const bool slow = !load_architecture(name).features.exact_transpose;
      EXPECT_LT(plain.input, (slow ? 3 : 1.5) * plain.sums);
      EXPECT_LT(plain.weight, (slow ? 10 : 2) * plain.sums);
      EXPECT_LT(plain.pooling, 2 * plain.sums);
      EXPECT_LT(plain.sums + plain.pooling + plain.input + plain.weight,
                (slow ? 14 : 6.5) * plain.forward);
    }
  }
}

struct Layer {
  int64_t channels, size, filters, kernel, stride, padding, groups;
};

/// Layers of image networks, 8 images each, on trn2.
TEST(Conv2dBackwardTime, OfLayersOfNetworksIsBoundedAndTheirProgramsAreSmall) {
  const Architecture& trn2 = load_architecture("trn2");
  const std::pair<Layer, double> layers[] = {{{3, 224, 64, 7, 2, 3, 1}, 8},
                                             {{64, 56, 64, 3, 1, 1, 1}, 8},
                                             {{256, 14, 512, 3, 2, 1, 1}, 8},
                                             {{256, 56, 64, 1, 1, 0, 1}, 8},
                                             {{96, 56, 96, 3, 1, 1, 96}, 3}};
  for (const auto& [layer, most] : layers) {
    const auto [channels, size, filters, kernel, stride, padding, groups] = layer;
    const int64_t output = (size + 2 * padding - kernel) / stride + 1;
    const TensorSpec input{{8, channels, size, size}, {}}, bias{{filters}, {}};
    const TensorSpec weight{{filters, channels / groups, kernel, kernel}, {}};
    const TensorSpec gradient{{8, filters, output, output}, {}};
    const Conv2dGeometry geometry{{stride, stride}, {padding, padding}, {1, 1}, groups};
    SCOPED_TRACE(describe("weight", weight));
    const double forward = simulated_microseconds(
        build_alone(kConv2dMaxpool, trn2, {input, weight, bias},
                    {.stride = geometry.stride, .padding = geometry.padding, .groups = groups}));
    const BuiltOp of_input =
        build_alone(kConv2dInputGradient, trn2, {gradient, weight, input}, geometry);
    const BuiltOp of_weight =
        build_alone(kConv2dWeightGradient, trn2, {gradient, input, weight}, geometry);
    const double of_input_time = simulated_microseconds(of_input);
    const double of_weight_time = simulated_microseconds(of_weight);
    EXPECT_LT(of_input_time, most * forward);
    EXPECT_LT(of_weight_time, most * forward);
    EXPECT_LT(of_input.program->instructions.size(), 6000U);
    EXPECT_LT(of_weight.program->instructions.size(), 6000U);
  }
}

}  // namespace
}  // namespace neuron_sim
