// The boxes of masks of two and three dimensions, and comparisons at their edges.

#include <gtest/gtest.h>

#include <set>

#include "device/tracing/mask.h"
#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

const Sizes kCube{4, 3, 5};

/// constant + sum of step * position in a dimension of kCube.
IndexExpression in_cube(int64_t constant, const Sizes& steps) { return {constant, kCube, steps}; }

/// The positions of a shape where all conditions hold, as numbers in row-major order.
std::vector<int64_t> positions_of(const Mask& mask, const Sizes& shape) {
  std::vector<int64_t> result;
  int64_t number = 0;
  for_positions(shape, [&](const Sizes& p) {
    const bool holds = std::all_of(mask.conditions.begin(), mask.conditions.end(),
                                   [&](const auto& each) { return at(each, p, 0, 0) >= 0; });
    if (holds) result.push_back(number);
    ++number;
  });
  return result;
}

/// Those of boxes, box after box.
std::vector<int64_t> positions_of(const std::vector<Box>& boxes, const Sizes& shape) {
  std::vector<int64_t> result;
  for (const Box& box : boxes) {
    Sizes size = box.last;
    for (size_t d = 0; d < size.size(); ++d) size[d] -= box.first[d];
    for_positions(size, [&](const Sizes& p) {
      int64_t number = 0;
      for (size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + box.first[d] + p[d];
      result.push_back(number);
    });
  }
  return result;
}

/// The first positions of boxes.
std::vector<int64_t> firsts_of(const std::vector<Box>& boxes, const Sizes& shape) {
  std::vector<int64_t> result;
  for (const Box& box : boxes) result.push_back(positions_of({box}, shape).at(0));
  return result;
}

struct InCube {
  std::vector<IndexExpression> conditions;
  size_t count;  ///< of boxes
};
class MaskOfACube : public testing::TestWithParam<InCube> {};

TEST_P(MaskOfACube, LeavesDisjointBoxesInOrderAndNoMoreThanItNeeds) {
  const Mask mask{GetParam().conditions};
  const std::vector<Box> left = boxes(mask, kCube).value();
  std::vector<int64_t> covered = positions_of(left, kCube);
  std::sort(covered.begin(), covered.end());
  EXPECT_EQ(covered, positions_of(mask, kCube));
  EXPECT_EQ(left.size(), GetParam().count);
  const std::vector<int64_t> firsts = firsts_of(left, kCube);
  EXPECT_TRUE(std::is_sorted(firsts.begin(), firsts.end()));
}

INSTANTIATE_TEST_SUITE_P(
    Single, MaskOfACube,
    testing::Values(InCube{{in_cube(2, {-1, 0, 0})}, 1}, InCube{{in_cube(-1, {1, 0, 0})}, 1},
                    InCube{{in_cube(0, {0, -1, 0})}, 1}, InCube{{in_cube(-3, {0, 2, 0})}, 1},
                    InCube{{in_cube(-8, {0, 0, 2})}, 1}, InCube{{in_cube(7, {0, 0, -2})}, 1},
                    InCube{{in_cube(-4, {1, 0, 0})}, 0}, InCube{{in_cube(-1, {0, 0, 0})}, 0},
                    InCube{{in_cube(2, {-1, 0, 0}), in_cube(-1, {0, 0, 1})}, 1},
                    InCube{{in_cube(-2, {1, 0, 0}), in_cube(1, {-1, 0, 0})}, 0}));

INSTANTIATE_TEST_SUITE_P(
    Coupled, MaskOfACube,
    testing::Values(InCube{{in_cube(0, {1, -1, 0})}, 3},     // y <= x
                    InCube{{in_cube(0, {-1, 1, 0})}, 3},     // x <= y, by columns
                    InCube{{in_cube(0, {1, 0, -1})}, 4},     // z <= x
                    InCube{{in_cube(0, {-1, 0, 1})}, 4},     // x <= z
                    InCube{{in_cube(0, {0, 1, -1})}, 3},     // z <= y
                    InCube{{in_cube(2, {-1, -1, 0})}, 3},    // x + y <= 2
                    InCube{{in_cube(-4, {1, 1, 0})}, 2},     // x + y >= 4
                    InCube{{in_cube(4, {-1, -1, -1})}, 12},  // x + y + z <= 4
                    InCube{{in_cube(-7, {1, 1, 1})}, 6},     // x + y + z >= 7
                    InCube{{in_cube(-9, {1, 1, 1})}, 1},     // the last corner
                    InCube{{in_cube(-10, {1, 1, 1})}, 0},
                    InCube{{in_cube(0, {1, -1, 0}), in_cube(0, {-1, 1, 0})}, 3},  // x == y
                    InCube{{in_cube(0, {1, -1, 0}), in_cube(-1, {0, 0, 1})}, 3},
                    InCube{{in_cube(0, {1, -1, 0}), in_cube(0, {0, 1, -1})}, 9}));

class DrawnMaskOfACube : public testing::TestWithParam<int> {};

TEST_P(DrawnMaskOfACube, LeavesEveryPositionWhereItHoldsOnceInOrder) {
  Draws draws{GetParam()};
  Mask mask;
  for (int64_t k = draws.number(1, 3); k > 0; --k) {
    Sizes steps(3, 0);
    for (int64_t& step : steps) step = draws.number(-2, 2);
    mask.conditions.push_back(in_cube(draws.number(-4, 6), steps));
  }
  const auto left = boxes(mask, kCube).value_or(std::vector{Box{{0, 0, 0}, kCube}});
  std::vector<int64_t> covered = positions_of(left, kCube);
  std::sort(covered.begin(), covered.end());
  EXPECT_EQ(covered, positions_of(mask, kCube));
  const std::vector<int64_t> firsts = firsts_of(left, kCube);
  EXPECT_TRUE(std::is_sorted(firsts.begin(), firsts.end()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnMaskOfACube, testing::Range(0, 60));

struct Compared {
  IndexExpression a;
  Comparison comparison;
  IndexExpression b;
  const char* result;  ///< the conditions, or "true" or "false"
};
class ComparedIndices : public testing::TestWithParam<Compared> {};

TEST_P(ComparedIndices, AreConditionsOrATruth) {
  const auto made = compare(GetParam().a, GetParam().comparison, GetParam().b);
  std::string result;
  if (const bool* truth = std::get_if<bool>(&made)) {
    result = *truth ? "true" : "false";
  } else {
    for (const IndexExpression& each : std::get<Mask>(made).conditions) {
      result += (result.empty() ? "" : " & ") + each.text();
    }
  }
  EXPECT_EQ(result, GetParam().result);
}

IndexExpression number(int64_t value) { return {value, {}, {}}; }

INSTANTIATE_TEST_SUITE_P(
    Edges, ComparedIndices,
    testing::Values(Compared{kI, Comparison::kLess, number(2), "1 + -1*i"},
                    Compared{kI, Comparison::kLessEqual, number(2), "2 + -1*i"},
                    Compared{kI, Comparison::kGreater, number(2), "-3 + i"},
                    Compared{kI, Comparison::kGreaterEqual, number(2), "-2 + i"},
                    Compared{kI, Comparison::kEqual, number(2), "2 + -1*i & -2 + i"},
                    Compared{kI, Comparison::kLess, kI, "false"},
                    Compared{kI, Comparison::kLessEqual, kI, "true"},
                    Compared{kI, Comparison::kGreater, kI, "false"},
                    Compared{kI, Comparison::kGreaterEqual, kI, "true"},
                    Compared{kI, Comparison::kEqual, kI, "true"},
                    Compared{kI, Comparison::kEqual, scaled(kI, 1, 1), "false"},
                    Compared{kI, Comparison::kLess, scaled(kI, 1, 1), "true"},
                    Compared{number(3), Comparison::kGreater, number(2), "true"},
                    Compared{number(3), Comparison::kGreater, number(3), "false"},
                    Compared{arange(0, 4), Comparison::kLess, sum(kI, kJ),
                             "-1 + i + j + -1*arange(4)"}));

TEST(Comparison, OfIndicesThatDoNotFitOrOverflowIsRefused) {
  EXPECT_EQ(refusal_of([] { compare(arange(0, 3), Comparison::kLess, arange(0, 2)); }),
            "index shapes [2] and [3] cannot be broadcast together.");
  EXPECT_EQ(refusal_of([] { compare(number(INT64_MAX), Comparison::kLess, number(INT64_MIN)); }),
            "an index expression is beyond 64 bits.");
  EXPECT_EQ(refusal_of([] { compare(number(INT64_MIN), Comparison::kGreater, number(0)); }),
            "an index expression is beyond 64 bits.");
}

TEST(MaskAtTheEdge, OfNumbersNear64BitsLeavesWhatItSays) {
  const auto left = [](int64_t constant, int64_t step) {
    return boxes({{{constant, {4}, {step}}}}, {4}).value().at(0);
  };
  EXPECT_EQ(left(5, INT64_MIN), (Box{{0}, {1}}));
  EXPECT_EQ(left(INT64_MAX, INT64_MIN / 2), (Box{{0}, {2}}));
  EXPECT_EQ(left(INT64_MIN, INT64_MAX), (Box{{2}, {4}}));
  EXPECT_EQ(left(-INT64_MAX, INT64_MAX), (Box{{1}, {4}}));
  const Mask coupled{{{-1, {4, 4}, {INT64_MAX, INT64_MAX}}}};
  EXPECT_EQ(refusal_of([&] { boxes(coupled, {4, 4}); }), "an index expression is beyond 64 bits.");
}

TEST(MaskAtTheEdge, OfATileWithoutElementsLeavesNothing) {
  EXPECT_TRUE(boxes({{{-1, {0, 4}, {1, -1}}}}, {0, 4}).value().empty());
  EXPECT_TRUE(boxes({{{-1, {0}, {1}}}}, {0}).value().empty());
}

TEST(MaskAtTheEdge, WhoseConditionsOnLoopsHoldNeedsNoneOfThem) {
  const Mask mask{{variable(outer, 0), arange(-1, 4)}};
  EXPECT_EQ(boxes(mask, {4}).value().at(0), (Box{{1}, {4}}));
  EXPECT_EQ(refusal_of([] {
              boxes({{variable(inner, -1), variable(outer, -1), variable(inner, -1, 2)}}, {4});
            }),
            "needs j i");
}

}  // namespace
}  // namespace neuron_sim::tracing
