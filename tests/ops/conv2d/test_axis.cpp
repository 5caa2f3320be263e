#include "ops/conv2d/axis.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

/// The axis as check_conv2d makes it.
Conv2dAxis made(Conv2dAxis axis) {
  return make_axis(axis, axis.extent + 2 * axis.padding - axis.reach());
}

TEST(Conv2dAxis, CountsWhatOutputsNeed) {
  const Conv2dAxis axis = made({.extent = 30,
                                .kernel = 3,
                                .stride = 2,
                                .padding = 1,
                                .dilation = 4,
                                .pool = 3,
                                .pool_stride = 2});
  EXPECT_EQ(axis.reach(), 9);       // taps 0, 4, 8
  EXPECT_EQ(axis.outputs, 5);       // of 12 convolution outputs: windows at 0, 2, 4, 6, 8
  EXPECT_EQ(axis.convolved(), 11);  // the last one is in no window
  EXPECT_EQ(axis.convolved(2), 5);
  EXPECT_EQ(axis.inputs(5), 17);
  EXPECT_FALSE(axis.is_tiled());
}

TEST(Conv2dAxis, KnowsWhichOutputsReadNoPadding) {
  const Conv2dAxis axis =
      made({.extent = 12, .kernel = 3, .padding = 2, .pool = 2, .pool_stride = 2});
  // Seven outputs; output i reads elements 2 i - 2 to 2 i + 1.
  EXPECT_EQ(axis.outputs, 7);
  EXPECT_FALSE(axis.is_inside(0, 1));
  EXPECT_TRUE(axis.is_inside(1, 1));
  EXPECT_TRUE(axis.is_inside(1, 5));
  EXPECT_FALSE(axis.is_inside(1, 6));
  EXPECT_TRUE(axis.is_inside(5, 1));
  EXPECT_FALSE(axis.is_inside(6, 1));
}

TEST(Conv2dAxis, TurnsWindowsOfOneIntoStride) {
  const Conv2dAxis axis =
      made({.extent = 40, .kernel = 3, .stride = 2, .pool = 1, .pool_stride = 3});
  EXPECT_EQ(axis.outputs, 7);  // every third of 19
  EXPECT_EQ(axis.stride, 6);
  EXPECT_EQ(axis.pool_stride, 1);
  EXPECT_TRUE(axis.is_tiled());
}

TEST(Conv2dAxis, ForgetsStepsThatAreNeverTaken) {
  constexpr int64_t kLarge = int64_t{1} << 31;
  const Conv2dAxis one = made({.extent = 9,
                               .kernel = 1,
                               .stride = kLarge,
                               .dilation = kLarge,
                               .pool = 1,
                               .pool_stride = kLarge});
  EXPECT_EQ(one.outputs, 1);
  EXPECT_EQ(one.stride * one.dilation * one.pool_stride, 1);
  const Conv2dAxis window = made({.extent = 9, .kernel = 1, .pool = 9, .pool_stride = kLarge});
  EXPECT_EQ(window.outputs, 1);
  EXPECT_EQ(window.stride, 1);
  EXPECT_TRUE(window.is_tiled());
}

TEST(Conv2dAxis, CutsTheRemainderFirstAndJoinsWhatReadsNoPadding) {
  const Conv2dAxis axis = made({.extent = 20, .kernel = 3, .padding = 1});
  const auto runs = cut(axis.outputs, 6, axis);
  ASSERT_EQ(runs.size(), 3U);  // [0, 2), [2, 8) and [8, 14), [14, 20)
  EXPECT_EQ(runs[0].start, 0);
  EXPECT_EQ(runs[0].size, 2);
  EXPECT_EQ(runs[1].start, 2);
  EXPECT_EQ(runs[1].size, 6);
  EXPECT_EQ(runs[1].count, 2);
  EXPECT_EQ(runs[2].start, 14);
  EXPECT_EQ(runs[2].count, 1);
}

}  // namespace
}  // namespace neuron_sim
