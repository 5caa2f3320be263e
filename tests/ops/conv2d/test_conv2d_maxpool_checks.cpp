// What the convolution kernel says about arguments it cannot compute.

#include <gtest/gtest.h>

#include <string>

#include "device/arch/architecture.h"
#include "device/base/errors.h"
#include "ops/conv2d/conv2d_maxpool.h"

namespace neuron_sim {
namespace {

std::string error_of(TensorSpec input, TensorSpec weight, TensorSpec bias,
                     Conv2dMaxpoolOptions options = {}) {
  try {
    build_alone(kConv2dMaxpool, load_architecture("trn2"), {input, weight, bias}, options);
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(Conv2dMaxpoolChecks, RejectsShapesThatDoNotFitTogether) {
  const TensorSpec input{{1, 3, 8, 9}, {}}, weight{{4, 3, 3, 3}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of(input, weight, bias), "");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {6, 7}}), "");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {7, 7}}),
            "conv2d_maxpool: the pooling window height of 7 exceeds the convolution output height "
            "of 6.");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {6, 8}}),
            "conv2d_maxpool: the pooling window width of 8 exceeds the convolution output width of "
            "7.");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {3, 4}, .stride = {2, 2}}), "");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {4, 4}, .stride = {2, 2}}),
            "conv2d_maxpool: the pooling window height of 4 exceeds the convolution output height "
            "of 3.");
  EXPECT_EQ(error_of(input, {{4, 2, 3, 3}, {}}, bias),
            "conv2d_maxpool: dimension 1 of weight [4, 2, 3, 3] float32 is 2, expected 3.");
  EXPECT_EQ(error_of(input, weight, {{5}, {}}),
            "conv2d_maxpool: dimension 0 of bias [5] float32 is 5, expected 4.");
  EXPECT_EQ(error_of(input, {{4, 3, 9, 3}, {}}, bias),
            "conv2d_maxpool: the kernel height of 9 exceeds the padded input height of 8 (8 + 2 * "
            "0).");
  EXPECT_EQ(error_of(input, {{4, 3, 10, 3}, {}}, bias, {.padding = {1, 0}}), "");
  EXPECT_EQ(error_of(input, weight, bias, {.dilation = {3, 4}}), "");
  EXPECT_EQ(
      error_of(input, weight, bias, {.dilation = {4, 4}}),
      "conv2d_maxpool: the kernel height of 3 with dilation 4 exceeds the padded input height "
      "of 8 (8 + 2 * 0).");
  EXPECT_EQ(error_of(input, weight, bias, {.dilation = {1, int64_t{1} << 31}}),
            "conv2d_maxpool: the kernel width of 3 with dilation 2147483648 exceeds the padded "
            "input width of 9 (9 + 2 * 0).");
  EXPECT_EQ(error_of({{3, 8, 9}, {}}, weight, bias),
            "conv2d_maxpool: input [3, 8, 9] float32 has 3 dimensions, expected 4.");
  EXPECT_EQ(error_of({{1, 3, 0, 9}, {}}, weight, bias),
            "conv2d_maxpool needs positive sizes, but dimension 2 of input [1, 3, 0, 9] float32 is "
            "not positive.");
}

TEST(Conv2dMaxpoolChecks, RejectsGroupsThatDoNotDivideTheChannels) {
  const TensorSpec input{{1, 6, 8, 9}, {}}, weight{{4, 3, 3, 3}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of(input, weight, bias, {.groups = 2}), "");
  EXPECT_EQ(error_of(input, weight, bias, {.groups = 3}),
            "conv2d_maxpool: groups 3 does not divide the 4 output channels of weight [4, 3, 3, 3] "
            "float32.");
  EXPECT_EQ(error_of(input, weight, bias, {.groups = 4}),
            "conv2d_maxpool: groups 4 does not divide the 6 channels of input [1, 6, 8, 9] "
            "float32.");
  EXPECT_EQ(error_of(input, {{4, 2, 3, 3}, {}}, bias, {.groups = 2}),
            "conv2d_maxpool: dimension 1 of weight [4, 2, 3, 3] float32 is 2, expected 3.");
  EXPECT_EQ(error_of(input, weight, bias, {.groups = 0}),
            "conv2d_maxpool: groups 0 must be at least 1.");
}

TEST(Conv2dMaxpoolChecks, RejectsOptionsAndDtypesItDoesNotHave) {
  const TensorSpec input{{1, 3, 8, 9}, {}}, weight{{4, 3, 3, 3}, {}}, bias{{4}, {}};
  EXPECT_EQ(error_of(input, weight, bias, {.pool_kernel = {0, 0}, .pool_stride = {0, 0}}),
            "conv2d_maxpool: pool_size 0 must be at least 1.");
  EXPECT_EQ(error_of(input, weight, bias, {.pool_stride = {1, 0}}),
            "conv2d_maxpool: pool_stride 0 must be at least 1.");
  EXPECT_EQ(error_of(input, weight, bias, {.dilation = {0, 1}}),
            "conv2d_maxpool: dilation 0 must be at least 1.");
  EXPECT_EQ(error_of(input, weight, bias, {.stride = {1, 0}}),
            "conv2d_maxpool: stride 0 must be at least 1.");
  EXPECT_EQ(error_of(input, weight, bias, {.padding = {-1, 0}}),
            "conv2d_maxpool: padding -1 must be at least 0.");
  EXPECT_EQ(error_of(input, {{4, 3, 3, 3}, {}, Dtype::kFloat16}, bias),
            "conv2d_maxpool: input [1, 3, 8, 9] float32 and weight [4, 3, 3, 3] float16 have "
            "different dtypes.");
  EXPECT_EQ(error_of(input, weight, bias, {.output_dtype = Dtype::kFloat32}), "");
  EXPECT_EQ(error_of(input, weight, bias, {.output_dtype = Dtype::kFloat16}),
            "conv2d_maxpool gives an output of the dtype of its operands or float32, but got "
            "float16 for input [1, 3, 8, 9] float32.");
}

}  // namespace
}  // namespace neuron_sim
