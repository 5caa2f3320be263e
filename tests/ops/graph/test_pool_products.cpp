#include "ops/graph/pool_products.h"

#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/pooling/max_pool.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

constexpr Dtype kHalf = Dtype::kBfloat16;
const std::vector<int64_t> kImage{2, 5, 8, 9}, kPooled{2, 5, 4, 4};
const GraphTensor kInput = tensor_in(0, {2, 3, 10, 11}, {}, 0, kHalf),
                  kWeight = tensor_in(1, {5, 3, 3, 3}, {}, 0, kHalf), kSums = tensor_in(2, kImage),
                  kAfter = tensor_in(3, kImage), kMaxima = tensor_in(4, kPooled),
                  kOther = tensor_in(5, kImage);
const External kIsExternal{0, 1, 4, 5};

GraphKernel convolution() {
  return kernel_of(kConvolution, {.output_dtype = Dtype::kFloat32}, {kInput, kWeight}, {kSums});
}

GraphKernel pooling(const GraphTensor& from, const GraphTensor& to, const PoolingWindows& windows) {
  return kernel_of(kMaxPool, windows, {from}, {to});
}

/// Windows of that size and distance over an image of kImage, from `padding` before it on.
GraphKernel pooling(const GraphTensor& from, const GraphTensor& to, int64_t size, int64_t stride,
                    int64_t padding = 0) {
  return pooling(from, to,
                 {pooling_windows(kImage[2], to.shape[2], size, stride, padding, 1),
                  pooling_windows(kImage[3], to.shape[3], size, stride, padding, 1)});
}

GraphKernel pooling(const GraphTensor& from = kAfter) { return pooling(from, kMaxima, 2, 2); }

GraphKernel relu() {
  return pointwise([](Expression& e) { return maximum(e.input(0), e.constant(0)); }, {kSums},
                   kAfter);
}

size_t left(const std::vector<GraphKernel>& kernels, const External& external = kIsExternal) {
  return joined_kernels(kernels, external, random_memories({660, 135, 720, 720, 720, 720, 720}));
}

TEST(PoolProducts, MaximaAreTakenOfWhatFollowsAConvolution) {
  EXPECT_EQ(left({convolution(), relu(), pooling()}), 1U);
  EXPECT_EQ(left({convolution(), pooling(kSums)}), 1U) << "of the sums themselves";
}

TEST(PoolProducts, OperandsOfTheExpressionHaveTheSizesBeforePooling) {
  const GraphKernel sum =
      pointwise([](Expression& e) { return e.input(0) + e.input(1); }, {kSums, kOther}, kAfter);
  EXPECT_EQ(left({convolution(), sum, pooling()}), 1U);
}

TEST(PoolProducts, MaximaThatAreOnlyReadRoundedAreRoundedBefore) {
  const GraphTensor rounded = tensor_in(6, kPooled, {}, 0, kHalf);
  const auto cast = [](const GraphTensor& to) {
    return pointwise([](Expression& e) { return e.input(0); }, {kMaxima}, to);
  };
  EXPECT_EQ(left({convolution(), relu(), pooling(), cast(rounded)}, {0, 1, 6}), 1U);
  EXPECT_EQ(left({convolution(), relu(), pooling(), cast(rounded)}, {0, 1, 4, 6}), 2U)
      << "read unrounded, too";
}

TEST(PoolProducts, WindowsMayLeaveGaps) {
  EXPECT_EQ(left({convolution(), pooling(kSums, tensor_in(4, {2, 5, 3, 3}), 2, 3)}), 1U);
}

TEST(PoolProducts, WindowsThatOverlapOrLeaveTheImageArePooledAfterwards) {
  EXPECT_EQ(left({convolution(), pooling(kSums, tensor_in(4, {2, 5, 3, 4}), 3, 2)}), 2U);
  EXPECT_EQ(left({convolution(), pooling(kSums, tensor_in(4, {2, 5, 5, 5}), 2, 2, 1)}), 2U);
}

TEST(PoolProducts, WindowsOfDifferentSizesArePooledAfterwards) {
  const PoolingWindows adaptive{adaptive_windows(8, 4), adaptive_windows(9, 4)};
  EXPECT_EQ(left({convolution(), pooling(kSums, kMaxima, adaptive)}), 2U);
}

TEST(PoolProducts, AnImageThatIsReadElsewhereIsStored) {
  EXPECT_EQ(left({convolution(), relu(), pooling()}, {0, 1, 3, 4}), 2U) << "after the graph";
  const GraphKernel reader =
      pointwise([](Expression& e) { return e.input(0) + 1.0; }, {kAfter}, tensor_in(6, kImage));
  EXPECT_EQ(left({convolution(), relu(), pooling(), reader}, {0, 1, 4, 6}), 2U);
}

TEST(PoolProducts, KernelsKeepTheOrderThatTheirMemoriesNeed) {
  // The kernel in between reads what pooling overwrites.
  const GraphKernel reader =
      pointwise([](Expression& e) { return e.input(0) + 1.0; }, {kMaxima}, tensor_in(6, kPooled));
  EXPECT_EQ(left({convolution(), reader, pooling(kSums)}, {0, 1, 4, 6}), 3U);
  EXPECT_EQ(left({reader, convolution(), pooling(kSums)}, {0, 1, 4, 6}), 2U);
}

}  // namespace
}  // namespace neuron_sim
