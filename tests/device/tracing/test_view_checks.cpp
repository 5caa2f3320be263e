// Bounds that do not hold yet, through views of views; and ap() of views of all kinds.

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

const Sizes kShape{8, 6, 10};

/// Items of a subscript, and for each position of the result the indices that they select.
struct DrawnItems {
  std::vector<Range> ranges;
  std::vector<bool> is_new;  ///< before each range a new axis, or not

  DrawnItems(Draws& draws, const Sizes& of, bool may_leave) {
    for (const int64_t size : of) {
      Range range{.start = draws.number(0, size / 2), .stays = draws.number(0, 3) > 0};
      if (may_leave) range.start.add(Term{&outer, draws.number(0, 2)});
      range.step = draws.number(1, 2);
      const int64_t most = (size - 1 - range.start.constant) / range.step + 1;
      range.count = range.stays ? draws.number(1, may_leave ? most + 1 : most) : 1;
      range.may_be_masked = may_leave;
      ranges.push_back(range);
      is_new.push_back(!may_leave && draws.number(0, 3) == 0);
    }
  }
  TensorView apply(const TensorView& view) const {
    Subscript subscript(view);
    for (size_t d = 0; d < ranges.size(); ++d) {
      if (is_new[d]) subscript.add_axis();
      subscript.take(ranges[d]);
    }
    return subscript.result();
  }
  Sizes indices(const Sizes& positions, int64_t i) const {
    Sizes result;
    size_t next = 0;
    for (size_t d = 0; d < ranges.size(); ++d) {
      next += is_new[d] ? 1 : 0;
      const int64_t position = ranges[d].stays ? positions[next++] : 0;
      result.push_back(at(ranges[d].start, i, 0) + ranges[d].step * position);
    }
    return result;
  }
};

class DrawnChecks : public testing::TestWithParam<int> {};

TEST_P(DrawnChecks, HoldInAPartWhereItsIndicesAreInside) {
  Draws draws{GetParam()};
  const DrawnItems first(draws, kShape, true);
  const TensorView view = first.apply(TensorView::dense(kShape, -1));
  const DrawnItems second(draws, view.shape, false);
  const TensorView made = second.apply(view);
  bool always = true;
  for (int64_t i = 0; i < outer.trip_count; ++i) {
    bool is_inside = true;
    for_positions(made.shape, [&](const Sizes& p) {
      const Sizes indices = first.indices(second.indices(p, i), i);
      for (size_t d = 0; d < kShape.size(); ++d) is_inside = is_inside && indices[d] < kShape[d];
    });
    EXPECT_EQ(holds(made, i, 0), is_inside);
    always = always && is_inside;
  }
  EXPECT_EQ(refusal_of([&] { made.check_bounds(); }).empty(), always);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnChecks, testing::Range(0, 60));

struct Check {
  IndexCheck check;
  Sizes shape;
  Bounds bounds;
  bool holds;
};
class CheckOfAnIndex : public testing::TestWithParam<Check> {};

TEST_P(CheckOfAnIndex, HasTheBoundsOfItsPositions) {
  EXPECT_EQ(GetParam().check.bounds(GetParam().shape), GetParam().bounds);
  EXPECT_EQ(GetParam().check.holds(GetParam().shape), GetParam().holds);
}

INSTANTIATE_TEST_SUITE_P(Edges, CheckOfAnIndex,
                         testing::Values(Check{{0, 0, {1}, 8}, {8}, {0, 7}, true},
                                         Check{{0, 0, {1}, 8}, {9}, {0, 8}, false},
                                         Check{{0, 7, {-1}, 8}, {8}, {0, 7}, true},
                                         Check{{0, 7, {-1}, 8}, {9}, {-1, 7}, false},
                                         Check{{0, 3, {}, 4}, {5, 6}, {3, 3}, true},
                                         Check{{0, 4, {}, 4}, {5, 6}, {4, 4}, false},
                                         Check{{0, -1, {}, 4}, {5, 6}, {-1, -1}, false},
                                         Check{{0, 1, {2, -3}, 9}, {4, 2}, {-2, 7}, false},
                                         Check{{0, 3, {2, -3}, 10}, {4, 2}, {0, 9}, true},
                                         Check{{0, kI.position, {1}, 8}, {6}, {0, 7}, true},
                                         Check{{0, kI.position, {1}, 8}, {7}, {0, 8}, false},
                                         Check{{0, 5, {1, 1}, 8}, {3}, {5, 7}, true},
                                         Check{{0, 5, {1}, 8}, {1, 9}, {5, 5}, true},
                                         Check{{0, 8, {1}, 8}, {0}, {7, 8}, false}));

struct Pattern {
  TensorView view, pattern;
  IndexExpression offset;
  const char* place;  ///< partition, element, steps; or the refusal
};
class PatternOfAView : public testing::TestWithParam<Pattern> {};

TEST_P(PatternOfAView, BeginsAtItsOffsetInTheStorageOrInTheView) {
  const Pattern& given = GetParam();
  std::string result;
  const std::string refusal = refusal_of([&] {
    const TensorView made = placed_pattern(given.view, given.pattern, given.offset, 100);
    result = IndexExpression{made.partition, {}, {}}.text() + ", " +
             IndexExpression{made.start, {}, {}}.text() + ", " + text_of(made.shape) + " " +
             text_of(made.steps) + " " + std::to_string(made.axis);
  });
  EXPECT_EQ(refusal.empty() ? result : refusal, given.place);
}

TensorView on_chip(const Sizes& shape, const Sizes& steps) { return {0, shape, steps, 2, 40, {}}; }
TensorView entries(const Sizes& sizes, const Sizes& steps) { return {-1, sizes, steps, 0, 0, {}}; }
const TensorView kDense = on_chip({8, 6}, {1, 1});

INSTANTIATE_TEST_SUITE_P(
    Forms, PatternOfAView,
    testing::Values(
        Pattern{kDense, entries({4}, {100}), {}, "0, 0, [4, 1] [1, 1] 0"},
        Pattern{kDense, entries({4}, {6}), {}, "2, 40, [4, 1] [1, 1] 0"},
        Pattern{kDense, entries({1, 3}, {7, 2}), {205, {}, {}}, "2, 5, [1, 3] [1, 2] 0"},
        Pattern{kDense, entries({4, 3}, {6, 2}), {7, {}, {}}, "3, 41, [4, 3] [1, 2] 0"},
        Pattern{kDense, entries({4, 3}, {100, 2}), scaled(kI, 100, 3), "i, 3, [4, 3] [1, 2] 0"},
        Pattern{kDense, entries({4, 3}, {6, 2}), scaled(kI, 6), "2 + i, 40, [4, 3] [1, 2] 0"},
        Pattern{kDense, entries({4, 3}, {100, 2}), scaled(kI, 50), "needs i"},
        Pattern{
            on_chip({8, 2, 3}, {1, 3, 1}), entries({4, 3}, {6, 2}), {}, "2, 40, [4, 3] [1, 2] 0"},
        Pattern{
            on_chip({8, 1, 6}, {1, 9, 1}), entries({4, 3}, {6, 2}), {}, "2, 40, [4, 3] [1, 2] 0"},
        Pattern{on_chip({8, 2, 3}, {1, 4, 1}),
                entries({4, 3}, {6, 2}),
                {},
                "ap of '{tensor}[8, 2, 3]': the step 6 of the partition dimension must be the 100 "
                "elements of a partition."},
        Pattern{on_chip({8, 3}, {1, 2}),
                entries({4, 3}, {3, 2}),
                {},
                "ap of '{tensor}[8, 3]': the step 3 of the partition dimension must be the 100 "
                "elements of a partition."},
        Pattern{{1, {2, 8, 3}, {3, 1, 1}, 0, 0, {}},
                entries({4, 3}, {24, 2}),
                {},
                "ap of '{tensor}[2, 8, 3]': the step 24 of the partition dimension must be the 100 "
                "elements of a partition."},
        Pattern{kDense,
                entries({4, 3}, {99, 2}),
                {},
                "ap of '{tensor}[8, 6]': the step 99 of the partition dimension must be the 100 "
                "elements of a partition."}));

TEST(OutOfBound, NamesTensorDimensionIndexAndSize) {
  EXPECT_EQ(refusal_of([] {
              out_of_bound("x", 2, {-3, 9}, 8);
            }),
            "Out-of-bound access for tensor `x` on dimension 2: index range [-3, 9] exceed "
            "dimension size of 8");
  try {
    out_of_bound("x", 0, {0, 0}, 0);
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
  }
}

}  // namespace
}  // namespace neuron_sim::tracing
