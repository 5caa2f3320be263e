#include "device/tracing/mask.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

/// "all", "first+size x first+size; ..." per box, or the refusal.
std::string described(const Mask& mask, const Sizes& shape) {
  std::optional<std::vector<Box>> left;
  std::string result = refusal_of([&] { left = boxes(mask, shape); });
  if (!result.empty()) return result;
  if (!left) return "all";
  for (const Box& box : *left) {
    if (!result.empty()) result += "; ";
    for (size_t d = 0; d < shape.size(); ++d) {
      result += (d > 0 ? " x " : "") + std::to_string(box.first[d]) + "+" +
                std::to_string(box.last[d] - box.first[d]);
    }
  }
  return result;
}

class DrawnMask : public testing::TestWithParam<int> {
 protected:
  Draws draws{GetParam()};
};

TEST_P(DrawnMask, LeavesEveryPositionWhereItsConditionsHoldOnce) {
  const Mask mask{{draws.expression(false), draws.expression(false)}};
  std::vector<int> count(20), expected(20);
  for_positions(kTile, [&](const Sizes& p) {
    const bool holds = at(mask.conditions[0], p, 0, 0) >= 0 && at(mask.conditions[1], p, 0, 0) >= 0;
    expected[static_cast<size_t>(p[0] * 5 + p[1])] = holds ? 1 : 0;
  });
  for (const Box& box : boxes(mask, kTile).value_or(std::vector{Box{{0, 0}, kTile}})) {
    for_positions({box.last[0] - box.first[0], box.last[1] - box.first[1]}, [&](const Sizes& p) {
      ++count[static_cast<size_t>((box.first[0] + p[0]) * 5 + box.first[1] + p[1])];
    });
  }
  EXPECT_EQ(count, expected);
}

TEST_P(DrawnMask, OfAComparisonHoldsWhereItsValuesCompareSo) {
  const IndexExpression a = draws.expression(), b = draws.expression();
  const std::pair<Comparison, std::function<bool(int64_t, int64_t)>> comparisons[] = {
      {Comparison::kLess, std::less<>()},
      {Comparison::kLessEqual, std::less_equal<>()},
      {Comparison::kGreater, std::greater<>()},
      {Comparison::kEqual, std::equal_to<>()},
      {Comparison::kGreaterEqual, std::greater_equal<>()}};
  for (const auto& [comparison, holds] : comparisons) {
    const auto made = compare(a, comparison, b);
    for_all(kTile, [&](const Sizes& p, int64_t i, int64_t j) {
      const Mask* mask = std::get_if<Mask>(&made);
      const bool value =
          mask == nullptr ? std::get<bool>(made)
                          : std::all_of(mask->conditions.begin(), mask->conditions.end(),
                                        [&](const auto& each) { return at(each, p, i, j) >= 0; });
      EXPECT_EQ(value, holds(at(a, p, i, j), at(b, p, i, j)));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnMask, testing::Range(0, 25));

const IndexExpression kRow{0, {8, 1}, {1, 0}}, kColumn{0, {1, 10}, {0, 1}};
IndexExpression at_most(const IndexExpression& of, int64_t most) { return scaled(of, -1, most); }

struct Left {
  Mask mask;
  const char* boxes;
};
class MaskOfATile : public testing::TestWithParam<Left> {};

TEST_P(MaskOfATile, LeavesTheseBoxes) {
  EXPECT_EQ(described(GetParam().mask, {8, 10}), GetParam().boxes);
}

INSTANTIATE_TEST_SUITE_P(
    Edges, MaskOfATile,
    testing::Values(
        Left{{{}}, "all"}, Left{{{{0, {}, {}}}}, "all"}, Left{{{{-1, {}, {}}}}, ""},
        Left{{{at_most(kRow, 7)}}, "all"}, Left{{{at_most(kRow, 6)}}, "0+7 x 0+10"},
        Left{{{at_most(kRow, 0)}}, "0+1 x 0+10"}, Left{{{at_most(kRow, -1)}}, ""},
        Left{{{scaled(kColumn, 1, 0)}}, "all"}, Left{{{scaled(kColumn, 1, -1)}}, "0+8 x 1+9"},
        Left{{{scaled(kColumn, 1, -9)}}, "0+8 x 9+1"}, Left{{{scaled(kColumn, 1, -10)}}, ""},
        Left{{{scaled(kColumn, 3, -7)}}, "0+8 x 3+7"},
        Left{{{scaled(kColumn, -3, 7)}}, "0+8 x 0+3"},
        Left{{{at_most(kRow, 3), scaled(kColumn, 1, -4)}}, "0+4 x 4+6"},
        Left{{{at_most(kRow, 3), scaled(kRow, 1, -4)}}, ""},
        Left{{{sum(at_most(kRow, 0), at_most(kColumn, 1))}}, "0+2 x 0+1; 0+1 x 1+1"},
        Left{{{sum(kRow, kColumn, -1), at_most(kRow, 1)}}, "0+1 x 0+1; 1+1 x 0+2"},
        Left{{{arange(-1, 10)}}, "0+8 x 1+9"}, Left{{{variable(outer, -1)}}, "needs i"},
        Left{{{variable(outer, 0)}}, "all"}, Left{{{variable(outer, -3)}}, ""},
        Left{{{variable(outer, -1), variable(inner, -1)}}, "needs i j"},
        Left{{{arange(-1, 9)}}, "mask of shape [9] does not fit a tile of shape [8, 10]."},
        Left{{{{-1, {2, 8, 10}, {1, 0, 0}}}},
             "mask of shape [2, 8, 10] does not fit a tile of shape [8, 10]."}));

TEST(Mask, IsSplitIntoAsManyBoxesAsItSaysAndNoMore) {
  for (const int64_t rows : {kMaximumBoxes, kMaximumBoxes + 1}) {
    const IndexExpression row{0, {rows, 1}, {1, 0}}, column{0, {1, 10}, {0, 1}};
    const Mask mask{{sum(row, column, -1)}};  // column <= row
    const std::string refusal = refusal_of([&] { boxes(mask, {rows, 10}); });
    EXPECT_EQ(refusal.empty(), rows == kMaximumBoxes) << refusal;
  }
}

TEST(Mask, HasTheLargerOfTheSizesOfItsConditions) {
  EXPECT_EQ(text_of(Mask{{kRow, arange(0, 12), {0, {}, {}}}}.shape()), "[8, 12]");
  EXPECT_EQ(text_of(Mask{}.shape()), "[]");
}

}  // namespace
}  // namespace neuron_sim::tracing
