#include "ops/blocks/axis_windows.h"

#include <gtest/gtest.h>

#include <set>

namespace neuron_sim {
namespace {

/// Inputs on the axis that an output's window names, one after the other.
std::set<int64_t> named(const AxisWindows& axis, int64_t output) {
  std::set<int64_t> inputs;
  const auto& window = axis.windows[static_cast<size_t>(output)];
  for (int64_t tap = 0; tap < window.count; ++tap) {
    const int64_t input = window.start + tap * axis.dilation;
    if (input >= 0 && input < axis.extent) inputs.insert(input);
  }
  return inputs;
}

/// Of pooling with gaps, overlaps, padding and dilation, and of windows of different sizes.
std::vector<AxisWindows> axes() {
  return {pooling_windows(9, 3, 3, 3, 0, 1),
          pooling_windows(9, 5, 3, 2, 1, 1),
          pooling_windows(11, 3, 2, 4, 0, 1),
          pooling_windows(10, 5, 3, 2, 2, 2),
          pooling_windows(2, 4, 1, 1, 1, 1),
          adaptive_windows(7, 3),
          adaptive_windows(3, 7)};
}

TEST(AxisWindows, OutputsAreFromTheFirstToTheLastThatReadsAnInput) {
  for (const AxisWindows& axis : axes()) {
    for (int64_t first = 0; first < axis.extent; ++first) {
      for (int64_t end = first + 1; end <= axis.extent; ++end) {
        std::set<int64_t> readers;
        for (int64_t o = 0; o < axis.outputs(); ++o) {
          for (const int64_t input : named(axis, o)) {
            if (input >= first && input < end) readers.insert(o);
          }
        }
        const AxisRange outputs = window_outputs(axis, first, end - first);
        ASSERT_EQ(outputs.count, readers.empty() ? 0 : *readers.rbegin() - *readers.begin() + 1);
        if (!readers.empty()) ASSERT_EQ(outputs.first, *readers.begin());
      }
    }
  }
}

TEST(AxisWindows, InputsAreFromTheFirstToTheLastThatAnOutputReads) {
  for (const AxisWindows& axis : axes()) {
    for (int64_t first = 0; first < axis.outputs(); ++first) {
      std::set<int64_t> read;
      for (int64_t end = first + 1; end <= axis.outputs(); ++end) {
        read.merge(named(axis, end - 1));
        const AxisRange inputs = window_inputs(axis, first, end - first);
        ASSERT_EQ(inputs.first, read.empty() ? 0 : *read.begin());
        ASSERT_EQ(inputs.count, read.empty() ? 1 : *read.rbegin() - *read.begin() + 1);
      }
    }
  }
}

TEST(AxisWindows, AreDisjointWhereNoInputIsInTwo) {
  EXPECT_TRUE(are_disjoint(pooling_windows(9, 3, 3, 3, 0, 1)));
  EXPECT_FALSE(are_disjoint(pooling_windows(9, 4, 3, 2, 0, 1)));
  EXPECT_TRUE(are_disjoint(pooling_windows(10, 2, 3, 5, 0, 2)));
  EXPECT_FALSE(are_disjoint(pooling_windows(10, 2, 3, 4, 0, 2)));
}

}  // namespace
}  // namespace neuron_sim
