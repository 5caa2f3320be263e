// How the convolution kernel cuts its tensors to fit SBUF, PSUM and the Tensor engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "device/base/errors.h"
#include "device/timeline/timeline.h"
#include "tests/ops/conv2d_bench.h"

namespace neuron_sim {
namespace {

using namespace conv2d_bench;

TEST(Conv2dMaxpoolTiling, ConvolvesSeveralChannelAndFilterBlocks) {
  check_convolution({.size = {1, 256, 7, 6}, .filters = 256});
  check_convolution({.size = {2, 257, 5, 5}, .filters = 129, .kernel = {1, 2}});
  check_convolution({.size = {1, 129, 5, 5}, .filters = 131, .kernel = 3, .pool = 3});
}

TEST(Conv2dMaxpoolTiling, PacksKernelRowsOfFewChannels) {
  check_convolution(
      {.size = {1, 3, 20, 21}, .filters = 64, .kernel = 7, .stride = 2, .padding = 3});
  check_convolution({.size = {1, 64, 9, 9}, .filters = 64, .padding = 1});
  check_convolution(
      {.size = {1, 30, 12, 9}, .filters = 40, .kernel = {5, 2}, .stride = 2, .padding = 1});
  check_convolution({.size = {2, 1, 28, 28}, .filters = 6, .kernel = 5, .padding = 2, .pool = 2});
}

TEST(Conv2dMaxpoolTiling, StreamsBandsOfLargeImages) {
  check_convolution({.size = {1, 128, 71, 100}, .filters = 8, .padding = 1, .pool = 1});
  check_convolution({.size = {1, 70, 130, 66}, .filters = 8, .pool = 2});
  check_convolution(
      {.size = {2, 3, 150, 302}, .filters = 8, .kernel = 5, .stride = 1, .padding = 2, .pool = 2});
}

TEST(Conv2dMaxpoolTiling, SplitsWideRowsOverBanksAndPanels) {
  check_convolution({.size = {1, 2, 4, 1100}, .filters = 3});
  check_convolution({.size = {1, 129, 4, 1031}, .filters = 3, .stride = 2, .padding = 1});
  check_convolution(
      {.size = {1, 260, 3, 9002}, .filters = 2, .kernel = {2, 3}, .padding = 1, .pool = 2});
}

TEST(Conv2dMaxpoolTiling, CutsPoolingWindowsThatExceedSbuf) {
  check_convolution({.size = {1, 500, 122, 122}, .filters = 2, .pool = 120});
}

TEST(Conv2dMaxpoolTiling, LoadsWeightsInPassesWhenTheyExceedSbuf) {
  check_convolution({.size = {1, 1200, 4, 4}, .filters = 300});
  check_convolution({.size = {2, 1030, 11, 12}, .filters = 70, .kernel = 11});
}

TEST(Conv2dMaxpoolTiling, TransposesLargeKernelsByDma) {
  check_convolution({.size = {1, 2, 64, 66}, .filters = 3, .kernel = {61, 65}});
  check_convolution({.size = {1, 130, 10, 31}, .filters = 3, .kernel = {9, 30}});
}

TEST(Conv2dMaxpoolTiling, BatchesSmallImagesInOneBank) {
  check_convolution({.size = {9, 130, 7, 7}, .filters = 10, .padding = 1});
  check_convolution({.size = {70, 3, 6, 6}, .filters = 10, .pool = 2});
}

TEST(Conv2dMaxpoolTiling, GathersImagesThatExceedABank) {
  check_convolution({.size = {9, 3, 24, 26}, .filters = 4, .padding = 1, .pool = 2});
  check_convolution({.size = {13, 70, 25, 23}, .filters = 4, .stride = 1, .architecture = "trn1"});
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
  c.size.images = between(0, 3) == 0 ? between(3, 20) : between(1, 3);
  c.size.channels = between(0, 2) == 0 ? between(127, 270) : between(1, 70);
  c.filters = between(0, 3) == 0 ? between(120, 260) : between(1, 20);
  c.kernel.h = between(1, 5);
  c.kernel.w = between(1, 7);
  c.stride = between(1, 3);
  c.padding = between(0, 3);
  const int64_t pool = between(0, 1) == 0 ? 1 : between(2, 9);
  c.pool = pool;
  const int64_t rows = pool * between(1, std::max<int64_t>(1, 30 / pool));
  const int64_t columns = pool * between(1, std::max<int64_t>(1, 40 / pool));
  const auto extent = [&](int64_t outputs, int64_t kernel) {
    return (outputs - 1) * c.stride.h + kernel - 2 * c.padding.h + between(0, c.stride.h - 1);
  };
  c.size.height = extent(rows, c.kernel.h);
  c.size.width = extent(columns, c.kernel.w);
  return c;
}

TEST(Conv2dMaxpoolTiling, CutsRandomShapesToAnySbuf) {
  std::mt19937 generator(7);
  int compared = 0;
  while (compared < 150 && !HasFatalFailure()) {
    const Convolution c = random_convolution(generator);
    const int64_t work = c.size.images * c.size.channels * c.filters * c.kernel.h * c.kernel.w *
                         std::max<int64_t>(c.size.height, 1) * std::max<int64_t>(c.size.width, 1);
    if (c.size.height < 1 || c.size.width < 1 || work > 10'000'000) continue;
    try {
      check_convolution(c);
      ++compared;
    } catch (const KernelError& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
      ASSERT_LT(c.sbuf_bytes, 10'000) << error.what();
    }
  }
}

TEST(Conv2dMaxpoolTiling, KeepsProgramsSmall) {
  for (const std::string& architecture : builtin_architectures()) {
    const Convolution large{
        .size = {1, 256, 224, 224}, .filters = 256, .pool = 2, .architecture = architecture};
    EXPECT_LT(build(large).program->instructions.size(), 300U) << architecture;
  }
}

TEST(Conv2dMaxpoolTiling, KeepsTheTensorEngineBusy) {
  // 7,992 products of 222 columns per tile pair: 739 us at 2.4 GHz, four times that for float32.
  for (const int64_t pool : {1, 2}) {
    Convolution large{
        .size = {1, 256, 224, 224}, .filters = 256, .pool = pool, .dtype = Dtype::kFloat16};
    const Timing half = simulate(*build(large).program);
    EXPECT_GT(half.utilisation(EngineKind::kTensor), 0.95);
    EXPECT_LT(half.body.microseconds(), 739 / 0.9);
    large.dtype = Dtype::kFloat32;
    const Timing single = simulate(*build(large).program);
    EXPECT_GT(single.utilisation(EngineKind::kTensor), 0.95);
    EXPECT_LT(single.body.microseconds(), 4 * 739 / 0.9);
  }
}

}  // namespace
}  // namespace neuron_sim
