#include "device/tracing/access_pattern.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

using Dimensions = std::vector<Dimension>;

/// `size*stride, ...`
std::string described(const Dimensions& dimensions) {
  std::string result;
  for (const Dimension& each : dimensions) {
    if (!result.empty()) result += ", ";
    result += std::to_string(each.size) + "*" + std::to_string(each.stride);
  }
  return result;
}

/// The distances from the first element in row-major order.
std::vector<int64_t> distances(const Dimensions& dimensions) {
  TensorView view;
  for (const Dimension& each : dimensions) view.append(each.size, each.stride);
  std::vector<int64_t> result;
  for (const Element& each : elements_of(view).elements) result.push_back(each.second);
  return result;
}

struct Merge {
  Dimensions dimensions;
  size_t first;
  const char* merged;
};
class MergedDimensions : public testing::TestWithParam<Merge> {};

TEST_P(MergedDimensions, AreAsFewAsReachTheSameElements) {
  Dimensions merged = GetParam().dimensions;
  merge(merged, GetParam().first);
  EXPECT_EQ(described(merged), GetParam().merged);
  EXPECT_EQ(distances(merged), distances(GetParam().dimensions));
}

INSTANTIATE_TEST_SUITE_P(
    Edges, MergedDimensions,
    testing::Values(Merge{{}, 0, "1*1"}, Merge{{{1, 9}, {1, 7}}, 0, "1*1"},
                    Merge{{{4, 1}}, 0, "4*1"}, Merge{{{3, 8}, {8, 1}}, 0, "24*1"},
                    Merge{{{3, 9}, {8, 1}}, 0, "3*9, 8*1"}, Merge{{{3, 7}, {8, 1}}, 0, "3*7, 8*1"},
                    Merge{{{2, 24}, {3, 8}, {8, 1}}, 0, "48*1"},
                    Merge{{{2, 25}, {3, 8}, {8, 1}}, 0, "2*25, 24*1"},
                    Merge{{{2, 36}, {3, 12}, {8, 1}}, 0, "6*12, 8*1"},
                    Merge{{{2, 24}, {3, 8}, {8, 1}}, 1, "2*24, 24*1"},
                    Merge{{{2, 24}, {3, 8}, {8, 1}}, 2, "2*24, 3*8, 8*1"},
                    Merge{{{1, 24}, {3, 8}, {8, 1}}, 1, "1*24, 24*1"},
                    Merge{{{3, 8}, {1, 5}, {8, 1}}, 0, "24*1"}, Merge{{{3, 0}, {2, 0}}, 0, "6*0"},
                    Merge{{{3, 0}, {2, 1}}, 0, "3*0, 2*1"}, Merge{{{3, -8}, {8, -1}}, 0, "24*-1"},
                    Merge{{{3, 8}, {8, -1}}, 0, "3*8, 8*-1"}, Merge{{{2, 7}}, 1, "2*7, 1*1"}));

struct Access {
  TensorView view;
  IndexedRows indexed;
  const char* dimensions;
};
class AccessOfAView : public testing::TestWithParam<Access> {};

TEST_P(AccessOfAView, HasTheseDimensions) {
  Dimensions dimensions;
  append_access(GetParam().view, GetParam().indexed, dimensions);
  EXPECT_EQ(described(dimensions), GetParam().dimensions);
}

const Sizes kDenseShape{2, 2, 2, 2, 2, 2, 2}, kDenseSteps{64, 32, 16, 8, 4, 2, 1};

INSTANTIATE_TEST_SUITE_P(
    Edges, AccessOfAView,
    testing::Values(
        Access{{0, {4, 3, 8}, {1, 8, 1}, 0, 0, {}}, {}, "4*1, 3*8, 8*1"},
        Access{{1, {1, 4, 8}, {32, 1, 1}, 0, 0, {}}, {}, "4*1, 8*1"},
        Access{{-1, {}, {}, 0, 0, {}}, {}, "1*1"},
        Access{{-1, {3, 8}, {8, 1}, 0, 0, {}}, {}, "3*8, 8*1"},
        // As many dimensions as a View takes stay as they are; of one more, all that can be merge.
        Access{{-1, {2, 2, 2, 2, 2}, {16, 8, 4, 2, 1}, 0, 0, {}}, {}, "2*16, 2*8, 2*4, 2*2, 2*1"},
        Access{{-1, {2, 2, 2, 2, 2, 2}, {32, 16, 8, 4, 2, 1}, 0, 0, {}}, {}, "64*1"},
        Access{{0, {2, 2, 2, 2, 2, 2}, {1, 16, 8, 4, 2, 1}, 0, 0, {}}, {}, "2*1, 32*1"},
        Access{{-1, kDenseShape, kDenseSteps, 0, 0, {}}, {}, "128*1"},
        Access{{-1, kDenseShape, {95, 45, 21, 9, 4, 2, 1}, 0, 0, {}},
               {},
               "2*95, 2*45, 2*21, 2*9, 8*1"},
        Access{{-1, {3, 8}, {8, 1}, 0, 0, {}}, {5, 100}, "3*100, 8*1"},
        Access{{-1, {3, 8}, {8, 1}, 0, 0, {}}, {3, 100}, "3*100, 8*1"},
        Access{{-1, {3, 8}, {8, 1}, 0, 0, {}}, {2, 100}, "2*100, 8*1"},
        Access{{-1, {3, 8}, {8, 1}, 0, 0, {}}, {0, 100}, "0*100, 8*1"},
        Access{{-1, {2, 2, 2, 2, 2, 2}, {32, 16, 8, 4, 2, 1}, 0, 0, {}}, {7, 32}, "2*32, 32*1"}));

TEST(AccessOfAView, BehindBlocksIsOneWhereThereIsOneBlock) {
  EXPECT_FALSE(has_blocks({0, {4, 8}, {1, 1}, 0, 0, {}}));
  EXPECT_FALSE(has_blocks({2, {1, 1, 4, 8}, {32, 32, 1, 1}, 0, 0, {}}));
  EXPECT_TRUE(has_blocks({2, {1, 2, 4, 8}, {32, 32, 1, 1}, 0, 0, {}}));
  EXPECT_TRUE(has_blocks({1, {2, 4, 8}, {32, 1, 1}, 0, 0, {}}));
  EXPECT_TRUE(has_blocks({1, {0, 4, 8}, {32, 1, 1}, 0, 0, {}}));
  EXPECT_FALSE(has_blocks({-1, {2, 4}, {4, 1}, 0, 0, {}}));
}

TEST(AccessOfAView, InPartsHelpsTooManyDimensionsAndNegativeSteps) {
  EXPECT_FALSE(is_splittable({{4, 1}, {3, 0}}));
  EXPECT_TRUE(is_splittable({{4, 1}, {3, -1}}));
  EXPECT_TRUE(is_splittable({{4, -1}, {3, 1}}));
  EXPECT_FALSE(is_splittable(Dimensions(kMaximumRank, {2, 1})));
  EXPECT_TRUE(is_splittable(Dimensions(kMaximumRank + 1, {2, 1})));
}

}  // namespace
}  // namespace neuron_sim::tracing
