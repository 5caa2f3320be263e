// Dilation, groups and pooling windows of any size and step.

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

constexpr Dtype kFloats[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16};

TEST(Conv2dMaxpoolGeneral, SpreadsTheTapsOfADilatedKernel) {
  for (const int64_t channels : {3, 70, 130}) {  // packed kernel rows, one block, two blocks
    for (const Pair dilation : {Pair(2), Pair(1, 3), Pair(4, 1)}) {
      check_convolution({.size = {2, channels, 13, 17},
                         .filters = 9,
                         .stride = {2, 1},
                         .padding = {3, 2},
                         .dilation = dilation});
    }
  }
  // Only one row and column of outputs; the kernel reaches over the whole padded input.
  check_convolution({.size = {1, 5, 7, 9}, .filters = 4, .dilation = {3, 4}, .pool = 1});
}

TEST(Conv2dMaxpoolGeneral, StridesAndPadsEachDirectionByItself) {
  check_convolution({.size = {1, 40, 14, 11},
                     .filters = 12,
                     .kernel = {5, 2},
                     .stride = {1, 4},
                     .padding = {0, 3}});
}

TEST(Conv2dMaxpoolGeneral, PoolsWindowsThatOverlapOrLeaveGaps) {
  for (const Pair pool : {Pair(3), Pair(2, 3), Pair(1, 4), Pair(5, 1), Pair(11, 12)}) {
    for (const Pair step : {Pair(1), Pair(2), Pair(4, 3), Pair(7, 1)}) {
      check_convolution(
          {.size = {3, 20, 17, 19}, .filters = 7, .padding = 1, .pool = pool, .pool_stride = step});
    }
  }
}

TEST(Conv2dMaxpoolGeneral, LeavesOutWindowsThatReachBeyondTheOutput) {
  for (const int64_t pool : {2, 3, 5, 8}) {
    check_convolution({.size = {2, 5, 16, 17}, .filters = 3, .padding = 1, .pool = pool});
  }
  check_convolution({.size = {1, 5, 9, 9}, .filters = 3, .pool = 7});
}

TEST(Conv2dMaxpoolGeneral, OverlappingWindowsAreCutIntoBandsAndParts) {
  const Convolution large{.size = {1, 64, 112, 90},
                          .filters = 8,
                          .stride = 1,
                          .padding = 1,
                          .pool = 3,
                          .pool_stride = 2};
  check_convolution(large);
  for (const int64_t bytes : {4'000, 6'000, 12'000, 24'000}) {
    Convolution small{.size = {1, 30, 45, 44},
                      .filters = 5,
                      .dilation = {2, 1},
                      .pool = {12, 5},
                      .pool_stride = {5, 4}};
    small.sbuf_bytes = bytes;
    check_convolution(small);
  }
}

TEST(Conv2dMaxpoolGeneral, ConvolvesGroupsOfAnySize) {
  struct Case {
    int64_t channels, filters, groups;
  };
  const Case cases[] = {{6, 4, 2},        // one set, packed kernel rows
                        {32, 32, 32},     // depthwise
                        {20, 60, 20},     // depthwise with a multiplier
                        {131, 131, 131},  // depthwise in two unequal sets
                        {300, 300, 300},  // three equal sets
                        {128, 128, 32},   // four channels per group, two filters
                        {256, 128, 64},   // two sets of unequal sides
                        {150, 75, 5},     // two sets, four groups and one
                        {140, 260, 2},    // groups that fill the array, two filter blocks each
                        {390, 6, 3}};     // two contraction blocks per group
  for (const Case& c : cases) {
    check_convolution({.size = {2, c.channels, 9, 10},
                       .filters = c.filters,
                       .padding = 1,
                       .pool = 2,
                       .pool_stride = 1,
                       .groups = c.groups});
  }
}

TEST(Conv2dMaxpoolGeneral, ComputesGroupsInEveryDtypeOnEveryArchitecture) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : kFloats) {
      check_convolution({.size = {1, 144, 11, 12},
                         .filters = 72,
                         .stride = {1, 2},
                         .padding = 2,
                         .dilation = 2,
                         .pool = {3, 2},
                         .pool_stride = {2, 1},
                         .groups = 72,
                         .dtype = dtype,
                         .architecture = architecture});
    }
  }
}

TEST(Conv2dMaxpoolGeneral, StreamsGroupsOfLargeImagesAndKernels) {
  check_convolution({.size = {1, 48, 120, 130}, .filters = 48, .padding = 1, .groups = 48});
  check_convolution({.size = {1, 130, 40, 36},
                     .filters = 130,
                     .kernel = 31,
                     .padding = 15,
                     .pool = 2,
                     .groups = 130});
}

TEST(Conv2dMaxpoolGeneral, ReadsGroupsOfStridedTensors) {
  Convolution c{.size = {2, 12, 7, 9}, .filters = 24, .groups = 4};
  c.input_strides = {12 * 7 * 9, 1, 9 * 12, 12};  // channels last
  c.weight_strides = {1, 24 * 9, 24 * 3, 24};     // filters innermost
  c.bias_strides = {3};
  check_convolution(c);
}

TEST(Conv2dMaxpoolGeneral, KeepsNonFiniteValuesInOverlappingWindows) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : kFloats) {
      Convolution c{.size = {2, 20, 12, 12},
                    .filters = 36,
                    .padding = 1,
                    .dilation = {1, 2},
                    .pool = 3,
                    .pool_stride = 2,
                    .dtype = dtype,
                    .architecture = architecture};
      c.poison_input = {{17, INFINITY}, {3'000, NAN}};
      check_convolution(c);
      c.poison_input = {};
      c.poison_weight = {{5, -INFINITY}, {9 * 20 * 30 + 3, NAN}};
      check_convolution(c);
    }
  }
}

TEST(Conv2dMaxpoolGeneral, KeepsNonFiniteWeightsToTheirFilter) {
  for (const std::string& architecture : builtin_architectures()) {
    for (const Dtype dtype : kFloats) {
      Convolution c{.size = {1, 24, 8, 8},
                    .filters = 24,
                    .groups = 12,
                    .dtype = dtype,
                    .architecture = architecture};
      c.poison_weight = {{20, INFINITY}, {9 * 2 * 13 + 4, NAN}};
      check_convolution(c);
    }
  }
}

/// Any parameters; false where the kernel or the window does not fit.
bool choose(std::mt19937& generator, Convolution& c) {
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator() % static_cast<uint32_t>(high - low + 1));
  };
  const auto pair = [&](int64_t low, int64_t high) {
    const int64_t first = between(low, high);
    return Pair(first, between(low, high));
  };
  c.architecture = between(0, 1) == 0 ? "trn1" : "trn2";
  c.sbuf_bytes = between(0, 3) == 0 ? 0 : int64_t{3000} << between(0, 4);
  c.dtype = kFloats[between(0, 2)];
  c.size.images = between(0, 3) == 0 ? between(3, 12) : between(1, 3);
  c.groups = between(0, 1) == 0 ? 1 : between(0, 3) == 0 ? between(40, 270) : between(2, 9);
  c.size.channels = c.groups * (c.groups > 9 ? between(1, 3) : between(1, 40));
  c.filters = c.groups * (c.groups > 9 ? between(1, 3) : between(1, 40));
  c.kernel.h = between(1, 5);
  c.kernel.w = between(1, 5);
  c.stride = pair(1, 3);
  c.padding = pair(0, 3);
  c.dilation = between(0, 1) == 0 ? Pair(1) : pair(1, 4);
  c.pool = between(0, 2) == 0 ? Pair(1) : pair(1, 7);
  c.pool_stride = between(0, 2) == 0 ? c.pool : pair(1, 5);
  c.size.height = between(1, 30);
  c.size.width = between(1, 40);
  const bool fits = c.size.height + 2 * c.padding.h > c.dilation.h * (c.kernel.h - 1) &&
                    c.size.width + 2 * c.padding.w > c.dilation.w * (c.kernel.w - 1);
  return fits && c.output_h() >= c.pool.h && c.output_w() >= c.pool.w;
}

TEST(Conv2dMaxpoolGeneral, ComputesRandomParametersInAnySbuf) {
  std::mt19937 generator(11);
  int compared = 0;
  while (compared < 300 && !HasFatalFailure()) {
    Convolution c;
    if (!choose(generator, c)) continue;
    const int64_t work = c.size.images * c.size.channels / c.groups * c.filters * c.kernel.h *
                         c.kernel.w * c.output_h() * c.output_w();
    if (work > 4'000'000) continue;
    try {
      check_convolution(c);
      ++compared;
    } catch (const KernelError& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
      ASSERT_LT(c.sbuf_bytes, 25'000) << error.what();
      ASSERT_GT(c.sbuf_bytes, 0) << error.what();
    }
  }
}

/// Simulated microseconds of the kernel on trn2 in bfloat16.
double microseconds(Convolution c) {
  c.dtype = Dtype::kBfloat16;
  return simulate(*build(c).program).body.microseconds();
}

TEST(Conv2dMaxpoolGeneral, GroupsThatShareTheArrayCostWhatOneGroupDoes) {
  const Convolution dense{.size = {1, 128, 112, 112}, .filters = 128, .padding = 1};
  Convolution depthwise = dense, four = dense, twice = dense;
  depthwise.groups = 128;
  four.groups = 32;
  twice.groups = twice.size.channels = twice.filters = 256;
  EXPECT_LT(microseconds(depthwise), 1.1 * microseconds(dense));
  EXPECT_LT(microseconds(four), 1.1 * microseconds(dense));
  EXPECT_LT(microseconds(twice), 2.1 * microseconds(dense));
}

TEST(Conv2dMaxpoolGeneral, SetsOfGroupsOverlapTheirWeightsWithTheSetBefore) {
  Convolution one{.size = {1, 120, 14, 14}, .filters = 120, .padding = 1};
  one.groups = 120;
  Convolution eight = one;
  eight.groups = eight.size.channels = eight.filters = 960;
  EXPECT_LT(microseconds(eight), 5.5 * microseconds(one));
}

TEST(Conv2dMaxpoolGeneral, TilesOfDilatedKernelsAmortiseTheirHalo) {
  const Convolution dense{.size = {1, 256, 33, 33}, .filters = 256, .padding = 1};
  Convolution dilated = dense;
  dilated.padding = dilated.dilation = 24;
  EXPECT_LT(microseconds(dilated), 2 * microseconds(dense));
}

TEST(Conv2dMaxpoolGeneral, OverlappingWindowsCostLittleMoreThanWindowsThatTouch) {
  Convolution touching{.size = {1, 256, 114, 114}, .filters = 256, .pool = 2};
  Convolution overlapping = touching;
  overlapping.pool = 3;
  overlapping.pool_stride = 2;
  EXPECT_LT(microseconds(overlapping), 1.25 * microseconds(touching));
}

/// The convolution with its weight in the order channels, kernel rows and columns, filters.
Convolution by_channel(Convolution c) {
  const int64_t columns = c.kernel.w * c.filters;
  c.weight_strides = {1, c.kernel.h * columns, columns, c.filters};
  return c;
}

TEST(Conv2dMaxpool, TakesWeightsWhoseFiltersAreContiguous) {
  const std::vector<Convolution> convolutions{
      {.size = {2, 3, 9, 8}, .filters = 40},
      {.size = {1, 3, 9, 8}, .filters = 200, .pool = 2},
      {.size = {1, 150, 6, 5}, .filters = 300, .padding = 1},
      {.size = {1, 70, 6, 5}, .filters = 130, .kernel = 1, .stride = 2},
      // Not all filters at once.
      {.size = {1, 130, 5, 5}, .filters = 260, .sbuf_bytes = 24 * 1024}};
  for (Convolution c : convolutions) {
    for (const char* const architecture : {"trn1", "trn2"}) {
      c.architecture = architecture;
      c.dtype = Dtype::kBfloat16;
      check_convolution(by_channel(c));
    }
  }
}

TEST(Conv2dMaxpool, DoesNotTransposeWeightsWhoseFiltersAreContiguous) {
  const Convolution c{
      .size = {1, 256, 14, 14}, .filters = 256, .dtype = Dtype::kBfloat16, .architecture = "trn1"};
  EXPECT_LT(simulate(*build(by_channel(c)).program).body, simulate(*build(c).program).body);
}

}  // namespace
}  // namespace neuron_sim
