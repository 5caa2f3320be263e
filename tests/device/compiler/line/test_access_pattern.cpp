#include "device/compiler/line/access_pattern.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

std::vector<std::pair<int64_t, int64_t>> pattern(const std::vector<int64_t>& bytes) {
  std::vector<std::pair<int64_t, int64_t>> result;
  const std::optional<std::vector<Dimension>> dimensions = pattern_of(bytes);
  for (const Dimension& each : *dimensions) {
    result.emplace_back(each.size, each.stride);
  }
  return result;
}

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

TEST(AccessPattern, RowsOfAWindowAreTwoDimensions) {
  EXPECT_EQ(pattern({100, 104, 108, 160, 164, 168}), (Pairs{{2, 60}, {3, 4}}));
}

TEST(AccessPattern, RowsThatFollowEachOtherAreOneDimension) {
  EXPECT_EQ(pattern({8, 12, 16, 20}), (Pairs{{4, 4}}));
  EXPECT_EQ(pattern({8, 8, 8}), (Pairs{{3, 0}}));
  EXPECT_EQ(pattern({8}), Pairs{});
}

TEST(AccessPattern, FourDimensionsAreOneAndFiveNone) {
  const auto bytes = [](size_t dimensions) {
    std::vector<int64_t> result{0};
    int64_t stride = 1;
    for (size_t d = 0; d < dimensions; ++d, stride *= 3) {
      for (size_t i = 0, count = result.size(); i < count; ++i)
        result.push_back(result[i] + stride);
    }
    return result;
  };
  EXPECT_EQ(pattern(bytes(4)), (Pairs{{2, 27}, {2, 9}, {2, 3}, {2, 1}}));
  EXPECT_FALSE(pattern_of(bytes(5)));
}

TEST(AccessPattern, UnequalRowsAndBackwardStepsAreNone) {
  EXPECT_FALSE(pattern_of(std::vector<int64_t>{0, 4, 8, 20, 24}));
  EXPECT_FALSE(pattern_of(std::vector<int64_t>{0, 4, 20, 28}));
  EXPECT_FALSE(pattern_of(std::vector<int64_t>{8, 4, 0}));
}

TEST(AccessPattern, MergedDimensionsLeaveOutWhatIsContiguous) {
  Operand operand;
  operand.dtype = Dtype::kFloat32;
  operand.rank = 4;
  operand.free = {Dimension{2, 400}, Dimension{1, 99}, Dimension{5, 20}, Dimension{5, 4}};
  const std::vector<Dimension> merged = merged_dimensions(operand);
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].size, 2);
  EXPECT_EQ(merged[1].size, 25);
  EXPECT_EQ(merged[1].stride, 4);
}

}  // namespace
}  // namespace neuron_sim
