#include "ops/conv2d/conv2d_maxpool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/ops/conv2d_bench.h"

namespace neuron_sim {
namespace {

using namespace conv2d_bench;

TEST(Conv2dMaxpool, ConvolvesSmallImages) {
  check_convolution({.size = {1, 1, 5, 7}, .filters = 1});
  check_convolution({.size = {2, 3, 8, 9}, .filters = 5});
  check_convolution({.size = {3, 130, 6, 5}, .filters = 7});
  check_convolution({.size = {1, 4, 1, 1}, .filters = 3, .kernel = 1});
}

TEST(Conv2dMaxpool, StridesAndPads) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t padding : {0, 1, 2}) {
      check_convolution(
          {.size = {2, 70, 13, 17}, .filters = 33, .stride = stride, .padding = padding});
      check_convolution(
          {.size = {1, 3, 13, 17}, .filters = 33, .stride = stride, .padding = padding});
    }
  }
}

TEST(Conv2dMaxpool, PadsByMoreThanTheKernelReaches) {
  check_convolution({.size = {1, 2, 3, 3}, .filters = 2, .kernel = 2, .stride = 1, .padding = 5});
  check_convolution({.size = {1, 100, 2, 2}, .filters = 2, .kernel = 3, .stride = 2, .padding = 4});
  check_convolution({.size = {1, 2, 1, 1}, .filters = 2, .kernel = 11, .stride = 1, .padding = 6});
}

TEST(Conv2dMaxpool, PoolsWindowsOfAnySize) {
  for (const int64_t pool : {1, 2, 3, 4, 6, 12}) {
    check_convolution({.size = {2, 5, 14, 14}, .filters = 9, .pool = pool});
  }
  check_convolution({.size = {1, 130, 14, 26}, .filters = 9, .pool = 12});
}

TEST(Conv2dMaxpool, ComputesEveryDtypeOnEveryArchitecture) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
      check_convolution({.size = {2, 130, 10, 12},
                         .filters = 140,
                         .padding = 1,
                         .pool = 2,
                         .dtype = dtype,
                         .architecture = architecture});
      check_convolution({.size = {1, 40, 9, 12},
                         .filters = 35,
                         .stride = 2,
                         .padding = 1,
                         .dtype = dtype,
                         .architecture = architecture});
    }
  }
}

TEST(Conv2dMaxpool, KeepsSumsOf16BitOperandsInFp32) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    Convolution c{.size = {2, 20, 9, 11}, .filters = 7};
    c.dtype = dtype;
    c.wide_output = true;
    check_convolution(c);
    c.pool = 2;
    c.activation = Activation::kTanh;
    check_convolution(c);
    c.sbuf_bytes = 8 * 1024;
    check_convolution(c);
  }
}

TEST(Conv2dMaxpool, AppliesTheActivationBeforePooling) {
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kSigmoid, Activation::kTanh}) {
    check_convolution({.size = {1, 3, 8, 8}, .filters = 5, .pool = 2, .activation = activation});
  }
}

TEST(Conv2dMaxpool, ReadsArgumentsWithAnyStrides) {
  Convolution permuted{.size = {2, 5, 7, 9}, .filters = 6};
  permuted.input_strides = {5 * 7 * 9, 1, 9 * 5, 5};  // channels last
  permuted.weight_strides = {1, 6 * 9, 6 * 3, 6};     // filters innermost
  permuted.bias_strides = {3};
  check_convolution(permuted);
  Convolution gaps{.size = {2, 130, 7, 9}, .filters = 6};
  gaps.input_strides = {130 * 200, 200, 20, 2};
  gaps.bias_strides = {0};  // one bias for all
  check_convolution(gaps);
}

TEST(Conv2dMaxpool, SpreadsNonFiniteValuesOnlyAsFarAsTheirWindows) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
      Convolution convolution{.size = {2, 140, 8, 8},
                              .filters = 136,
                              .padding = 1,
                              .dtype = dtype,
                              .architecture = architecture};
      convolution.poison_input = {{17, INFINITY}, {8'000, NAN}};
      check_convolution(convolution);
      convolution.poison_input = {};
      convolution.poison_weight = {{5, -INFINITY}, {9 * 140 * 40 + 3, NAN}};
      check_convolution(convolution);
      convolution.size.channels = 20;
      convolution.poison_weight = {{5, INFINITY}, {9 * 20 * 40 + 3, NAN}};
      check_convolution(convolution);
    }
  }
}

TEST(Conv2dMaxpool, HasNoProgramForNoImages) {
  const BuiltOp op = build_alone(kConv2dMaxpool, load_architecture("trn2"),
                                 {{{0, 3, 8, 8}, {}}, {{4, 3, 3, 3}, {}}, {{4}, {}}},
                                 {.pool_kernel = {2, 2}, .pool_stride = {2, 2}});
  EXPECT_EQ(op.program, nullptr);
  EXPECT_EQ(op.output.shape, (std::vector<int64_t>{0, 4, 3, 3}));
}

}  // namespace
}  // namespace neuron_sim
