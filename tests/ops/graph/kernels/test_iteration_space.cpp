#include "ops/graph/kernels/iteration_space.h"

#include <map>

#include "tests/ops/run_kernel.h"

namespace neuron_sim {
namespace {

using Strides = std::vector<int64_t>;

void expect_space(const IterationSpace& space, const Strides& sizes,
                  const std::vector<Strides>& strides) {
  EXPECT_EQ(sizes_of(space), sizes);
  for (size_t t = 0; t < strides.size(); ++t) EXPECT_EQ(strides_of(space, t), strides[t]) << t;
}

/// Places of all tensors for each place of tensor `link`.
std::map<int64_t, Strides> places_by(const IterationSpace& space, size_t link) {
  std::map<int64_t, Strides> places;
  int64_t count = 1;
  for (const SharedDimension& dimension : space) count *= dimension.size;
  for (int64_t i = 0; i < count; ++i) {
    Strides at(space.front().strides.size(), 0);
    int64_t left = i;
    for (size_t d = space.size(); d-- > 0;) {
      for (size_t t = 0; t < at.size(); ++t) at[t] += left % space[d].size * space[d].strides[t];
      left /= space[d].size;
    }
    EXPECT_TRUE(places.emplace(at[link], at).second) << "two elements at one place";
  }
  return places;
}

TEST(IterationSpace, EqualSpacesStayAsTheyAre) {
  const IterationSpace space{{4, {6, 6}}, {6, {1, 1}}};
  const auto both = matched(space, 0, space, 1);
  ASSERT_TRUE(both);
  expect_space(both->first, {4, 6}, {{6, 1}, {6, 1}});
  expect_space(both->second, {4, 6}, {{6, 1}, {6, 1}});
}

TEST(IterationSpace, DimensionsAreSplitWhereTheOtherSpaceSplits) {
  // 24 elements against [2, 3, 4]; tensor 1 of the first has two elements between its own.
  const auto both = matched({{24, {1, 3}}}, 0, {{2, {12, 100}}, {3, {4, 7}}, {4, {1, 0}}}, 0);
  ASSERT_TRUE(both);
  expect_space(both->first, {2, 3, 4}, {{12, 4, 1}, {36, 12, 3}});
  expect_space(both->second, {2, 3, 4}, {{12, 4, 1}, {100, 7, 0}});
}

TEST(IterationSpace, BothSidesMaySplitWhereEachOtherDoes) {
  const auto both = matched({{4, {6}}, {6, {1}}}, 0, {{8, {3}}, {3, {1}}}, 0);
  ASSERT_TRUE(both);
  expect_space(both->first, {4, 2, 3}, {{6, 3, 1}});
  expect_space(both->second, {4, 2, 3}, {{6, 3, 1}});
}

TEST(IterationSpace, DimensionsAreOrderedByTheSharedTensor) {
  // The second space goes over the transpose of the shared tensor.
  const auto both = matched({{4, {6, 6}}, {6, {1, 1}}}, 1, {{6, {4, 1}}, {4, {1, 6}}}, 1);
  ASSERT_TRUE(both);
  expect_space(both->first, {4, 6}, {{6, 1}, {6, 1}});
  expect_space(both->second, {4, 6}, {{1, 4}, {6, 1}});
}

TEST(IterationSpace, OtherTensorsMayRepeatTheSharedOneNot) {
  const IterationSpace repeats{{4, {0, 6}}, {6, {1, 1}}};
  EXPECT_TRUE(matched(repeats, 1, repeats, 1));
  EXPECT_FALSE(matched(repeats, 0, repeats, 1));
  EXPECT_FALSE(matched(repeats, 1, repeats, 0));
  EXPECT_FALSE(matched(repeats, 0, repeats, 0));
}

TEST(IterationSpace, SizesThatDoNotDivideEachOtherHaveNoCommonDimensions) {
  EXPECT_FALSE(matched({{2, {3}}, {3, {1}}}, 0, {{3, {2}}, {2, {1}}}, 0));
  EXPECT_FALSE(matched({{7, {5}}, {5, {1}}}, 0, {{5, {7}}, {7, {1}}}, 0));
  EXPECT_TRUE(matched({{35, {1}}}, 0, {{5, {7}}, {7, {1}}}, 0));
}

TEST(IterationSpace, OtherElementsDoNotMatch) {
  EXPECT_FALSE(matched({{24, {1}}}, 0, {{12, {1}}}, 0)) << "the first half";
  EXPECT_FALSE(matched({{12, {1}}}, 0, {{24, {1}}}, 0)) << "more";
  EXPECT_FALSE(matched({{12, {1}}}, 0, {{12, {2}}}, 0)) << "every second one";
  EXPECT_FALSE(matched({{4, {8}}, {6, {1}}}, 0, {{4, {6}}, {6, {1}}}, 0)) << "padded rows";
  EXPECT_FALSE(matched({{4, {8}}, {6, {1}}}, 0, {{24, {1}}}, 0)) << "rows without their gaps";
  EXPECT_FALSE(matched({}, 0, {{2, {1}}}, 0)) << "one element and two";
}

TEST(IterationSpace, DimensionsOfOneElementDoNotCount) {
  const auto both = matched({{1, {99}}, {6, {1}}, {1, {0}}}, 0, {{3, {2}}, {1, {0}}, {2, {1}}}, 0);
  ASSERT_TRUE(both);
  expect_space(both->first, {3, 2}, {{2, 1}});
  expect_space(both->second, {3, 2}, {{2, 1}});
}

TEST(IterationSpace, OneElementHasNoDimensions) {
  for (const IterationSpace& one : {IterationSpace{}, IterationSpace{{1, {5}}, {1, {0}}}}) {
    const auto both = matched(one, 0, {}, 0);
    ASSERT_TRUE(both);
    EXPECT_TRUE(both->first.empty());
    EXPECT_TRUE(both->second.empty());
  }
}

/// Cuts a tensor of 2^8 elements into dimensions in any order, beside a tensor of any layout.
IterationSpace random_space(RandomLayouts& random) {
  Strides sizes;
  for (int64_t left = 256; left > 1; left /= sizes.back()) {
    sizes.push_back(std::min<int64_t>(left, int64_t{1} << random.number(0, 4)));
  }
  const Strides dense = dense_strides(sizes), other = random.strides(sizes, true);
  IterationSpace space;
  for (size_t d = 0; d < sizes.size(); ++d) space.push_back({sizes[d], {dense[d], other[d]}});
  for (size_t d = space.size(); d > 1; --d) {
    std::swap(space[d - 1],
              space[static_cast<size_t>(random.number(0, static_cast<int64_t>(d) - 1))]);
  }
  return space;
}

TEST(IterationSpace, EveryElementKeepsItsPlacesInAllTensors) {
  RandomLayouts random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const IterationSpace first = random_space(random), second = random_space(random);
    const auto both = matched(first, 0, second, 0);
    ASSERT_TRUE(both) << trial;
    EXPECT_EQ(places_by(both->first, 0), places_by(first, 0)) << trial;
    EXPECT_EQ(places_by(both->second, 0), places_by(second, 0)) << trial;
    EXPECT_EQ(sizes_of(both->first), sizes_of(both->second)) << trial;
    EXPECT_EQ(strides_of(both->first, 0), strides_of(both->second, 0)) << trial;
  }
}

}  // namespace
}  // namespace neuron_sim
