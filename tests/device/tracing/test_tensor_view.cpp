#include "device/tracing/tensor_view.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

const TensorView kOnChip{0, {8, 6, 10}, {1, 10, 1}, 2, 40, {}};
const TensorView kInHbm{-1, {8, 6, 10}, {60, 10, 1}, 0, 7, {}};

/// The partition and the element of a position of a view.
std::pair<int64_t, int64_t> element(const TensorView& view, const Sizes& positions, int64_t i = 0,
                                    int64_t j = 0) {
  std::pair result{at(view.partition, i, j), at(view.start, i, j)};
  for (size_t d = 0; d < positions.size(); ++d) {
    (static_cast<int>(d) == view.axis ? result.first : result.second) +=
        view.steps[d] * positions[d];
  }
  return result;
}

TEST(TensorView, ANewTensorIsDense) {
  EXPECT_EQ(TensorView::dense({8, 6, 10}, -1).steps, (Sizes{60, 10, 1}));
  EXPECT_EQ(TensorView::dense({8, 6, 10}, 0).steps, (Sizes{1, 10, 1}));
  EXPECT_EQ(TensorView::dense({8}, 0).steps, (Sizes{1}));
}

class DrawnSubscript : public testing::TestWithParam<int> {
 protected:
  Draws draws{GetParam()};
};

TEST_P(DrawnSubscript, OfRangesHasTheElementsThatTheyName) {
  const TensorView& old = GetParam() % 2 == 0 ? kOnChip : kInHbm;
  Subscript subscript(old);
  std::vector<Range> ranges;
  std::vector<size_t> kept;
  bool is_inside = true;
  for (size_t d = 0; d < 3; ++d) {
    Range range{.start = draws.number(0, 1), .stays = draws.number(0, 2) > 0};
    range.start.add(Term{&outer, draws.number(0, 1)});
    range.count = range.stays ? draws.number(1, 3) : 1;
    range.step = d == 0 || !range.stays ? 1 : draws.number(1, 2);
    if (range.stays || static_cast<int>(d) == old.axis) kept.push_back(d);
    is_inside =
        is_inside && range.start.bounds().high + (range.count - 1) * range.step < old.shape[d];
    ranges.push_back(range);
    subscript.take(range);
  }
  const TensorView made = subscript.result();
  EXPECT_EQ(made.checks.empty(), is_inside);
  for_all(made.shape, [&](const Sizes& p, int64_t i, int64_t j) {
    Sizes before(3, 0);
    for (size_t d = 0; d < 3; ++d) before[d] = at(ranges[d].start, i, j);
    for (size_t k = 0; k < kept.size(); ++k) before[kept[k]] += ranges[kept[k]].step * p[k];
    EXPECT_EQ(element(made, p, i, j), element(old, before));
  });
}

TEST_P(DrawnSubscript, ThatGathersHasTheElementsOfItsIndices) {
  const IndexExpression whole{0, kTile, {0, 0}};
  const std::vector<IndexExpression> drawn{
      sum(draws.expression(), whole), draws.expression(), {9, {}, {}}};
  const GatherIndex indices[] = {{&drawn[0]}, {&drawn[1]}, {nullptr, -1}};
  Subscript subscript(kInHbm);
  subscript.gather(indices);
  const TensorView made = subscript.result();
  for (int64_t i = 0; i < outer.trip_count; ++i) {
    bool is_inside = true;
    for_positions(kTile, [&](const Sizes& p) {
      Sizes before(3, 0);
      for (size_t d = 0; d < 3; ++d) before[d] = at(drawn[d], p, i, 1);
      for (size_t d = 0; d < 3; ++d) {
        is_inside = is_inside && before[d] >= 0 && before[d] < kInHbm.shape[d];
      }
      EXPECT_EQ(element(made, p, i, 1), element(kInHbm, before));
    });
    EXPECT_EQ(holds(made, i, 1), is_inside);
  }
}

TEST_P(DrawnSubscript, KeepsTheChecksThatDoNotHoldInAPart) {
  const int64_t first = draws.number(4, 6), from = draws.number(0, 2),
                end = draws.number(from + 1, 3);
  Subscript beyond(kInHbm);  // i + first .. i + first + 2
  beyond.take({.start = variable(outer, first).position, .count = 3, .stays = true});
  const TensorView checked = beyond.result();
  Subscript part(checked);
  part.take({.start = from, .count = end - from, .stays = true});
  for (const TensorView& made : {part.result(), checked.narrowed({{from}, {end}})}) {
    bool always = true;
    for (int64_t i = 0; i < outer.trip_count; ++i) {
      EXPECT_EQ(holds(made, i, 0), first + i + end - 1 < 8);
      always = always && first + i + end - 1 < 8;
    }
    EXPECT_EQ(refusal_of([&] { made.check_bounds(); }).empty(), always);
    EXPECT_EQ(made.checks.empty(), always);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrawnSubscript, testing::Range(0, 15));

class SliceOfNumbers : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(SliceOfNumbers, HasTheElementsOfPythons) {
  const auto [start, stop] = GetParam();
  const SliceBound from{start, true}, to{stop, true};
  for (const int64_t step : {1, 2, 3}) {
    int64_t count = 0;
    for (int64_t k = start < 0 ? start + 6 : start; k < (stop < 0 ? stop + 6 : stop); k += step) {
      ++count;
    }
    EXPECT_EQ(slice_range(&from, &to, step, 6).start, Position(start < 0 ? start + 6 : start));
    EXPECT_EQ(slice_range(&from, &to, step, 6).count, count);
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, SliceOfNumbers,
                         testing::Values(std::pair(0, 6), std::pair(0, 0), std::pair(0, 1),
                                         std::pair(5, 6), std::pair(-1, 6), std::pair(-6, 6),
                                         std::pair(0, -1), std::pair(-2, -1), std::pair(4, 2)));

TEST(Slice, OfLoopsHasASizeWhereTheyCancelAndNeedsThemElsewhere) {
  const SliceBound from{variable(outer).position, false}, to{variable(outer, 4).position, false};
  EXPECT_EQ(slice_range(&from, &to, 1, 6).count, 4);
  EXPECT_EQ(slice_range(nullptr, nullptr, 1, 6).count, 6);
  EXPECT_EQ(refusal_of([&] { slice_range(&from, nullptr, 1, 6); }), "needs i");
  EXPECT_EQ(refusal_of([&] { slice_range(nullptr, nullptr, 0, 6); }),
            "tensor `{tensor}`: the step 0 of a slice is not positive.");
}

struct Refused {
  std::function<void(Subscript&)> index;
  const char* sentence;  ///< or nothing
};
class SubscriptOnChip : public testing::TestWithParam<Refused> {};

TEST_P(SubscriptOnChip, IsTakenOrSaysWhyNot) {
  Subscript subscript(kOnChip);
  EXPECT_EQ(refusal_of([&] { GetParam().index(subscript); }), GetParam().sentence);
}

auto take(int64_t start, int64_t count = 1, int64_t step = 1) {
  return [=](Subscript& of) {
    of.take({.start = start, .count = count, .step = step, .stays = true});
  };
}
auto gather(const IndexExpression& a, const IndexExpression& b) {
  return [=](Subscript& of) {
    const GatherIndex indices[] = {{&a}, {&b}};
    of.gather(indices);
  };
}
const IndexExpression kRows{0, {4, 1}, {1, 0}}, kColumns{0, {1, 5}, {0, 1}};

INSTANTIATE_TEST_SUITE_P(
    Edges, SubscriptOnChip,
    testing::Values(
        Refused{take(0, 8), ""}, Refused{take(7), ""}, Refused{gather(kRows, kColumns), ""},
        Refused{take(0, 9),
                "Out-of-bound access for tensor `{tensor}` on dimension 0: index range "
                "[0, 8] exceed dimension size of 8"},
        Refused{take(-1),
                "Out-of-bound access for tensor `{tensor}` on dimension 0: index range "
                "[-1, -1] exceed dimension size of 8"},
        Refused{take(0, 4, 2), "tensor `{tensor}`: partition stride 2 is not supported."},
        Refused{[](Subscript& of) { of.expect(3, 1); }, ""},
        Refused{[](Subscript& of) { of.expect(4, 1); },
                "too many indices for tensor `{tensor}`: it has 3 dimensions, 5 were indexed."},
        Refused{[](Subscript& of) { take(0, 8)(of), of.add_axis(); }, ""},
        Refused{[](Subscript& of) { of.add_axis(); },
                "tensor `{tensor}`: no dimension can be added before the partitions."},
        Refused{gather(arange(0, 4), arange(0, 4)),
                "indexing tensor `{tensor}` with 1d arange is not supported"},
        Refused{gather(kColumns, kRows),
                "Failed to infer tile from tensor '{tensor}': its partition dimension is indexed "
                "by dimension 1 of the tile; the first dimension of a tile is the partition "
                "dimension."},
        Refused{gather(scaled(kRows, 2), kColumns),
                "tensor `{tensor}`: partition stride 2 is not supported."}));

TEST(TensorView, HasAsManyDimensionsAsItSaysAndNoMore) {
  TensorView view;
  for (size_t d = 0; d < kMaximumDimensions; ++d) view.append(1, 1);
  EXPECT_EQ(refusal_of([&] { view.append(1, 1); }), "a tensor has more than 12 dimensions.");
}

TEST(TensorView, OfOneColumnOnChipKeepsTwoDimensions) {
  const TensorView old{0, {8, 6}, {1, 1}, 0, 0, {}};
  Subscript subscript(old);
  subscript.take({.start = 3});
  subscript.take({.start = 2});
  const TensorView made = subscript.result();
  EXPECT_EQ(text_of(made.shape), "[1, 1]");
  EXPECT_EQ(element(made, {0, 0}), (std::pair<int64_t, int64_t>(3, 2)));
}

TEST(TensorView, NarrowedByABoxLeavesBroadcastDimensionsAlone) {
  TensorView view = kOnChip;
  view.shape[1] = 1;
  const TensorView made = view.narrowed({{3, 4, 2}, {8, 5, 6}});
  EXPECT_EQ(text_of(made.shape), "[5, 1, 4]");
  EXPECT_EQ(element(made, {0, 0, 0}), element(view, {3, 0, 2}));
}

struct Placed {
  int64_t step, offset;
  const char* place;  ///< "partition, element", or the refusal
};
class PlacedPattern : public testing::TestWithParam<Placed> {};

TEST_P(PlacedPattern, CountsInTheStorageOrInTheView) {
  TensorView made;
  const TensorView pattern{-1, {4, 3}, {GetParam().step, 2}, 0, 0, {}};
  std::string place = refusal_of([&] {
    made = placed_pattern(kOnChip, pattern, {GetParam().offset, {}, {}}, 100);
  });
  if (place.empty()) {
    const auto [partition, in_partition] = element(made, {0, 0});
    place = std::to_string(partition) + ", " + std::to_string(in_partition);
    EXPECT_EQ(text_of(made.steps), "[1, 2]");
  }
  EXPECT_EQ(place, GetParam().place);
}

INSTANTIATE_TEST_SUITE_P(
    Steps, PlacedPattern,
    testing::Values(Placed{100, 0, "0, 0"}, Placed{100, 99, "0, 99"}, Placed{100, 100, "1, 0"},
                    Placed{100, 305, "3, 5"}, Placed{60, 0, "2, 40"}, Placed{60, 59, "2, 99"},
                    Placed{60, 60, "3, 40"},
                    Placed{61, 0,
                           "ap of '{tensor}[8, 6, 10]': the step 61 of the partition "
                           "dimension must be the 100 elements of a partition."}));

}  // namespace
}  // namespace neuron_sim::tracing
