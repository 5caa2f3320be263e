#include "ops/kernels/conv2d_maxpool.h"

#include <gtest/gtest.h>

#include <random>

#include "device/timeline/timeline.h"
#include "tests/ops/kernels/conv2d_bench.h"

namespace neuron_sim {
namespace {

TEST(Conv2dMaxpool, ConvolvesSmallImages) {
  check_convolution({.images = 1, .channels = 1, .height = 5, .width = 7, .filters = 1});
  check_convolution({.images = 2, .channels = 3, .height = 8, .width = 9, .filters = 5});
  check_convolution({.images = 3, .channels = 130, .height = 6, .width = 5, .filters = 7});
  check_convolution({.images = 1,
                     .channels = 4,
                     .height = 1,
                     .width = 1,
                     .filters = 3,
                     .kernel_h = 1,
                     .kernel_w = 1});
}

TEST(Conv2dMaxpool, ConvolvesSeveralChannelAndFilterBlocks) {
  check_convolution({.images = 1, .channels = 256, .height = 7, .width = 6, .filters = 256});
  check_convolution({.images = 2,
                     .channels = 257,
                     .height = 5,
                     .width = 5,
                     .filters = 129,
                     .kernel_h = 1,
                     .kernel_w = 2});
  check_convolution({.images = 1,
                     .channels = 129,
                     .height = 5,
                     .width = 5,
                     .filters = 131,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .pool = 3});
}

TEST(Conv2dMaxpool, PacksKernelRowsOfFewChannels) {
  check_convolution({.images = 1,
                     .channels = 3,
                     .height = 20,
                     .width = 21,
                     .filters = 64,
                     .kernel_h = 7,
                     .kernel_w = 7,
                     .stride = 2,
                     .padding = 3});
  check_convolution(
      {.images = 1, .channels = 64, .height = 9, .width = 9, .filters = 64, .padding = 1});
  check_convolution({.images = 1,
                     .channels = 30,
                     .height = 12,
                     .width = 9,
                     .filters = 40,
                     .kernel_h = 5,
                     .kernel_w = 2,
                     .stride = 2,
                     .padding = 1});
  check_convolution({.images = 2,
                     .channels = 1,
                     .height = 28,
                     .width = 28,
                     .filters = 6,
                     .kernel_h = 5,
                     .kernel_w = 5,
                     .padding = 2,
                     .pool = 2});
}

TEST(Conv2dMaxpool, StridesAndPads) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t padding : {0, 1, 2}) {
      check_convolution({.images = 2,
                         .channels = 70,
                         .height = 13,
                         .width = 17,
                         .filters = 33,
                         .stride = stride,
                         .padding = padding});
      check_convolution({.images = 1,
                         .channels = 3,
                         .height = 13,
                         .width = 17,
                         .filters = 33,
                         .stride = stride,
                         .padding = padding});
    }
  }
}

TEST(Conv2dMaxpool, PadsByMoreThanTheKernelReaches) {
  check_convolution({.images = 1,
                     .channels = 2,
                     .height = 3,
                     .width = 3,
                     .filters = 2,
                     .kernel_h = 2,
                     .kernel_w = 2,
                     .stride = 1,
                     .padding = 5});
  check_convolution({.images = 1,
                     .channels = 100,
                     .height = 2,
                     .width = 2,
                     .filters = 2,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .stride = 2,
                     .padding = 4});
  check_convolution({.images = 1,
                     .channels = 2,
                     .height = 1,
                     .width = 1,
                     .filters = 2,
                     .kernel_h = 11,
                     .kernel_w = 11,
                     .stride = 1,
                     .padding = 6});
}

TEST(Conv2dMaxpool, PoolsWindowsOfAnySize) {
  for (const int64_t pool : {1, 2, 3, 4, 6, 12}) {
    check_convolution(
        {.images = 2, .channels = 5, .height = 14, .width = 14, .filters = 9, .pool = pool});
  }
  check_convolution(
      {.images = 1, .channels = 130, .height = 14, .width = 26, .filters = 9, .pool = 12});
}

TEST(Conv2dMaxpool, StreamsBandsOfLargeImages) {
  check_convolution({.images = 1,
                     .channels = 128,
                     .height = 71,
                     .width = 100,
                     .filters = 8,
                     .padding = 1,
                     .pool = 1});
  check_convolution(
      {.images = 1, .channels = 70, .height = 130, .width = 66, .filters = 8, .pool = 2});
  check_convolution({.images = 2,
                     .channels = 3,
                     .height = 150,
                     .width = 302,
                     .filters = 8,
                     .kernel_h = 5,
                     .kernel_w = 5,
                     .stride = 1,
                     .padding = 2,
                     .pool = 2});
}

TEST(Conv2dMaxpool, SplitsWideRowsOverBanksAndPanels) {
  check_convolution({.images = 1, .channels = 2, .height = 4, .width = 1100, .filters = 3});
  check_convolution({.images = 1,
                     .channels = 129,
                     .height = 4,
                     .width = 1031,
                     .filters = 3,
                     .stride = 2,
                     .padding = 1});
  check_convolution({.images = 1,
                     .channels = 260,
                     .height = 3,
                     .width = 9002,
                     .filters = 2,
                     .kernel_h = 2,
                     .kernel_w = 3,
                     .padding = 1,
                     .pool = 2});
}

TEST(Conv2dMaxpool, CutsPoolingWindowsThatExceedSbuf) {
  check_convolution(
      {.images = 1, .channels = 500, .height = 122, .width = 122, .filters = 2, .pool = 120});
}

TEST(Conv2dMaxpool, LoadsWeightsInPassesWhenTheyExceedSbuf) {
  check_convolution({.images = 1, .channels = 1200, .height = 4, .width = 4, .filters = 300});
  check_convolution({.images = 2,
                     .channels = 1030,
                     .height = 11,
                     .width = 12,
                     .filters = 70,
                     .kernel_h = 11,
                     .kernel_w = 11});
}

TEST(Conv2dMaxpool, TransposesLargeKernelsByDma) {
  check_convolution({.images = 1,
                     .channels = 2,
                     .height = 64,
                     .width = 66,
                     .filters = 3,
                     .kernel_h = 61,
                     .kernel_w = 65});
  check_convolution({.images = 1,
                     .channels = 130,
                     .height = 10,
                     .width = 31,
                     .filters = 3,
                     .kernel_h = 9,
                     .kernel_w = 30});
}

TEST(Conv2dMaxpool, BatchesSmallImagesInOneBank) {
  check_convolution(
      {.images = 9, .channels = 130, .height = 7, .width = 7, .filters = 10, .padding = 1});
  check_convolution(
      {.images = 70, .channels = 3, .height = 6, .width = 6, .filters = 10, .pool = 2});
}

TEST(Conv2dMaxpool, GathersImagesThatExceedABank) {
  check_convolution({.images = 9,
                     .channels = 3,
                     .height = 24,
                     .width = 26,
                     .filters = 4,
                     .padding = 1,
                     .pool = 2});
  check_convolution({.images = 13,
                     .channels = 70,
                     .height = 25,
                     .width = 23,
                     .filters = 4,
                     .stride = 1,
                     .architecture = "trn1"});
}

/// A convolution whose output is a multiple of its pooling window.
Convolution random_convolution(std::mt19937& generator) {
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint32_t>(high - low + 1));
  };
  Convolution c;
  c.architecture = between(0, 1) == 0 ? "trn1" : "trn2";
  c.sbuf_bytes = between(0, 3) == 0 ? 0 : int64_t{3000} << between(0, 4);
  c.dtype = between(0, 1) == 0 ? Dtype::kFloat32 : Dtype::kBfloat16;
  c.images = between(0, 3) == 0 ? between(3, 20) : between(1, 3);
  c.channels = between(0, 2) == 0 ? between(127, 270) : between(1, 70);
  c.filters = between(0, 3) == 0 ? between(120, 260) : between(1, 20);
  c.kernel_h = between(1, 5);
  c.kernel_w = between(1, 7);
  c.stride = between(1, 3);
  c.padding = between(0, 3);
  c.pool = between(0, 1) == 0 ? 1 : between(2, 9);
  const int64_t rows = c.pool * between(1, std::max<int64_t>(1, 30 / c.pool));
  const int64_t columns = c.pool * between(1, std::max<int64_t>(1, 40 / c.pool));
  const auto extent = [&](int64_t outputs, int64_t kernel) {
    return (outputs - 1) * c.stride + kernel - 2 * c.padding + between(0, c.stride - 1);
  };
  c.height = extent(rows, c.kernel_h);
  c.width = extent(columns, c.kernel_w);
  return c;
}

TEST(Conv2dMaxpool, CutsRandomShapesToAnySbuf) {
  std::mt19937 generator(7);
  int compared = 0;
  while (compared < 150 && !HasFatalFailure()) {
    const Convolution c = random_convolution(generator);
    const int64_t work = c.images * c.channels * c.filters * c.kernel_h * c.kernel_w *
                         std::max<int64_t>(c.height, 1) * std::max<int64_t>(c.width, 1);
    if (c.height < 1 || c.width < 1 || work > 10'000'000) continue;
    try {
      check_convolution(c);
      ++compared;
    } catch (const KernelError& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
      ASSERT_LT(c.sbuf_bytes, 10'000) << error.what();
    }
  }
}

TEST(Conv2dMaxpool, ComputesEveryDtypeOnEveryArchitecture) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
      check_convolution({.images = 2,
                         .channels = 130,
                         .height = 10,
                         .width = 12,
                         .filters = 140,
                         .padding = 1,
                         .pool = 2,
                         .dtype = dtype,
                         .architecture = architecture});
      check_convolution({.images = 1,
                         .channels = 40,
                         .height = 9,
                         .width = 12,
                         .filters = 35,
                         .stride = 2,
                         .padding = 1,
                         .dtype = dtype,
                         .architecture = architecture});
    }
  }
}

TEST(Conv2dMaxpool, AppliesTheActivationBeforePooling) {
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kSigmoid, Activation::kTanh}) {
    check_convolution({.images = 1,
                       .channels = 3,
                       .height = 8,
                       .width = 8,
                       .filters = 5,
                       .pool = 2,
                       .activation = activation});
  }
}

TEST(Conv2dMaxpool, ReadsArgumentsWithAnyStrides) {
  Convolution permuted{.images = 2, .channels = 5, .height = 7, .width = 9, .filters = 6};
  permuted.input_strides = {5 * 7 * 9, 1, 9 * 5, 5};  // channels last
  permuted.weight_strides = {1, 6 * 9, 6 * 3, 6};     // filters innermost
  permuted.bias_strides = {3};
  check_convolution(permuted);
  Convolution gaps{.images = 2, .channels = 130, .height = 7, .width = 9, .filters = 6};
  gaps.input_strides = {130 * 200, 200, 20, 2};
  gaps.bias_strides = {0};  // one bias for all
  check_convolution(gaps);
}

TEST(Conv2dMaxpool, SpreadsNonFiniteValuesOnlyAsFarAsTheirWindows) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
      Convolution convolution{.images = 2,
                              .channels = 140,
                              .height = 8,
                              .width = 8,
                              .filters = 136,
                              .padding = 1,
                              .dtype = dtype,
                              .architecture = architecture};
      convolution.poison_input = {{17, INFINITY}, {8'000, NAN}};
      check_convolution(convolution);
      convolution.poison_input = {};
      convolution.poison_weight = {{5, -INFINITY}, {9 * 140 * 40 + 3, NAN}};
      check_convolution(convolution);
      convolution.channels = 20;
      convolution.poison_weight = {{5, INFINITY}, {9 * 20 * 40 + 3, NAN}};
      check_convolution(convolution);
    }
  }
}

TEST(Conv2dMaxpool, HasNoProgramForNoImages) {
  const BuiltOp op = build_conv2d_maxpool(load_architecture("trn2"), {{0, 3, 8, 8}, {}},
                                          {{4, 3, 3, 3}, {}}, {{4}, {}}, {.pool_size = 2});
  EXPECT_EQ(op.program, nullptr);
  EXPECT_EQ(op.output.shape, (std::vector<int64_t>{0, 4, 3, 3}));
}

TEST(Conv2dMaxpool, KeepsProgramsSmall) {
  for (const std::string& architecture : builtin_architectures()) {
    const Convolution large{.images = 1,
                            .channels = 256,
                            .height = 224,
                            .width = 224,
                            .filters = 256,
                            .pool = 2,
                            .architecture = architecture};
    EXPECT_LT(build(large).program->instructions.size(), 300U) << architecture;
  }
}

TEST(Conv2dMaxpool, KeepsTheTensorEngineBusy) {
  // 7,992 products of 222 columns per tile pair: 739 us at 2.4 GHz, four times that for float32.
  for (const int64_t pool : {1, 2}) {
    Convolution large{.images = 1,
                      .channels = 256,
                      .height = 224,
                      .width = 224,
                      .filters = 256,
                      .pool = pool,
                      .dtype = Dtype::kFloat16};
    const Timing half = simulate(*build(large).program);
    EXPECT_GT(half.utilisation(EngineKind::kTensor), 0.95);
    EXPECT_LT(half.body.microseconds(), 739 / 0.9);
    large.dtype = Dtype::kFloat32;
    const Timing single = simulate(*build(large).program);
    EXPECT_GT(single.utilisation(EngineKind::kTensor), 0.95);
    EXPECT_LT(single.body.microseconds(), 4 * 739 / 0.9);
  }
}

std::string error_of(TensorSpec input, TensorSpec weight, TensorSpec bias,
                     Conv2dMaxpoolOptions options = {}) {
  try {
    build_conv2d_maxpool(load_architecture("trn2"), input, weight, bias, options);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(Conv2dMaxpool, RejectsShapesThatDoNotFitTogether) {
  const TensorSpec input{{1, 3, 8, 9}, {}}, weight{{4, 3, 3, 3}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of(input, weight, bias), "");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_size = 2}),
            "conv2d_maxpool: the pool_size of 2 does not divide the convolution output width of "
            "7.");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_size = 7}),
            "conv2d_maxpool: the pool_size of 7 does not divide the convolution output height of "
            "6.");
  EXPECT_EQ(error_of(input, {{4, 2, 3, 3}, {}}, bias),
            "conv2d_maxpool needs as many input channels in weight as in input, but weight [4, 2, "
            "3, 3] float32 has 2 and input [1, 3, 8, 9] float32 has 3.");
  EXPECT_EQ(error_of(input, weight, {{5}, {}}),
            "conv2d_maxpool needs one bias per output channel, but bias [5] float32 has 5 and "
            "weight [4, 3, 3, 3] float32 has 4 output channels.");
  EXPECT_EQ(error_of(input, {{4, 3, 9, 3}, {}}, bias),
            "conv2d_maxpool: the kernel height of 9 exceeds the padded input height of 8 (8 + 2 * "
            "0).");
  EXPECT_EQ(error_of(input, {{4, 3, 10, 3}, {}}, bias, {.padding_h = 1}), "");
  EXPECT_EQ(error_of({{3, 8, 9}, {}}, weight, bias),
            "conv2d_maxpool needs input [N, Cin, H, W], weight [Cout, Cin, KH, KW] and bias [Cout]"
            ", but got input [3, 8, 9] float32, weight [4, 3, 3, 3] float32 and bias [4] float32.");
  EXPECT_EQ(error_of({{1, 3, 0, 9}, {}}, weight, bias),
            "conv2d_maxpool needs positive sizes, but dimension 2 of input [1, 3, 0, 9] float32 is "
            "not positive.");
}

TEST(Conv2dMaxpool, RejectsOptionsAndDtypesItDoesNotHave) {
  const TensorSpec input{{1, 3, 8, 9}, {}}, weight{{4, 3, 3, 3}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of(input, weight, bias, {.pool_size = 0}),
            "conv2d_maxpool needs a pool_size of at least 1, but got 0.");
  EXPECT_EQ(error_of(input, weight, bias, {.stride_w = 0}),
            "conv2d_maxpool needs a stride_w of at least 1, but got 0.");
  EXPECT_EQ(error_of(input, weight, bias, {.padding_h = -1}),
            "conv2d_maxpool needs a padding_h of at least 0, but got -1.");
  EXPECT_EQ(error_of(input, {{4, 3, 3, 3}, {}, Dtype::kFloat16}, bias),
            "conv2d_maxpool needs one dtype of float32, float16 and bfloat16 for input, weight and "
            "bias, but got input [1, 3, 8, 9] float32, weight [4, 3, 3, 3] float16 and bias [4] "
            "float32.");
}

}  // namespace
}  // namespace neuron_sim
