// Subscripts one by one: what each kind of item leaves of a tensor, or its refusal.

#include <gtest/gtest.h>

#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

const TensorView kSbuf{0, {8, 6, 10}, {1, 10, 1}, 2, 40, {}};
const TensorView kHbm{-1, {8, 6, 10}, {60, 10, 1}, 0, 7, {}};
/// Of [2, 3] blocks of 4 partitions.
const TensorView kBlocked{2, {2, 3, 4, 6}, {18, 6, 1, 1}, 0, 0, {}};

/// `[shape] [steps] axis partition start`, and the checks that are left: `index d of size`.
std::string written(const TensorView& view) {
  std::string result = text_of(view.shape) + " " + text_of(view.steps) + " " +
                       std::to_string(view.axis) + " " +
                       IndexExpression{view.partition, {}, {}}.text() + " " +
                       IndexExpression{view.start, {}, {}}.text();
  for (const IndexCheck& check : view.checks) {
    result += ", index " + IndexExpression{check.start, {}, {}}.text() + " " +
              text_of(check.steps) + " in " + std::to_string(check.dimension) + " of " +
              std::to_string(check.size);
  }
  return result;
}

struct Index {
  const TensorView* of;
  std::function<void(Subscript&)> items;
  const char* result;
};
class IndexedView : public testing::TestWithParam<Index> {};

TEST_P(IndexedView, IsThisOneOrSaysWhyNot) {
  Subscript subscript(*GetParam().of);
  std::string result;
  const std::string refusal = refusal_of([&] {
    GetParam().items(subscript);
    result = written(subscript.result());
  });
  EXPECT_EQ(refusal.empty() ? result : refusal, GetParam().result);
}

Range number(const Position& at) { return {.start = at}; }
Range part(const Position& start, int64_t count, int64_t step = 1) {
  return {.start = start, .count = count, .step = step, .stays = true};
}
Range masked(const Position& start, int64_t count) {
  Range range = part(start, count);
  range.may_be_masked = true;
  return range;
}
auto taking(const std::vector<Range>& ranges) {
  return [=](Subscript& of) {
    of.expect(ranges.size(), 0);
    for (const Range& range : ranges) of.take(range);
  };
}
const Position kTrip = variable(outer).position;

INSTANTIATE_TEST_SUITE_P(
    Numbers, IndexedView,
    testing::Values(
        Index{&kHbm, taking({}), "[8, 6, 10] [60, 10, 1] -1 0 7"},
        Index{&kHbm, taking({number(3)}), "[6, 10] [10, 1] -1 0 187"},
        Index{&kHbm, taking({number(7), number(5), number(9)}), "[] [] -1 0 486"},
        Index{&kSbuf, taking({number(3)}), "[1, 6, 10] [1, 10, 1] 0 5 40"},
        Index{&kSbuf, taking({number(3), number(2), number(1)}), "[1, 1] [1, 1] 0 5 61"},
        Index{&kHbm, taking({number(kTrip)}), "[6, 10] [10, 1] -1 0 7 + 60*i"},
        Index{&kSbuf, taking({number(kTrip), number(kTrip)}), "[1, 10] [1, 1] 0 2 + i 40 + 10*i"},
        Index{&kBlocked, taking({number(1), number(2)}), "[4, 6] [1, 1] 0 0 30"},
        Index{&kBlocked, taking({number(1)}), "[3, 4, 6] [6, 1, 1] 1 0 18"},
        Index{&kHbm, taking({number(8)}),
              "Out-of-bound access for tensor `{tensor}` on dimension 0: index range "
              "[8, 8] exceed dimension size of 8"},
        Index{&kHbm, taking({number(0), number(-1)}),
              "Out-of-bound access for tensor `{tensor}` on dimension 1: index range "
              "[-1, -1] exceed dimension size of 6"},
        Index{&kHbm, taking({number(variable(outer, 6).position)}),
              "[6, 10] [10, 1] -1 0 367 + 60*i, index 6 + i [] in 0 of 8"}));

INSTANTIATE_TEST_SUITE_P(
    Slices, IndexedView,
    testing::Values(
        Index{&kHbm, taking({part(2, 3, 2)}), "[3, 6, 10] [120, 10, 1] -1 0 127"},
        Index{&kHbm, taking({part(0, 8), part(5, 1)}), "[8, 1, 10] [60, 10, 1] -1 0 57"},
        Index{&kHbm, taking({part(3, 0)}), "[0, 6, 10] [60, 10, 1] -1 0 187"},
        Index{&kSbuf, taking({part(2, 3), part(1, 2, 3)}), "[3, 2, 10] [1, 30, 1] 0 4 50"},
        Index{&kSbuf, taking({part(0, 1, 2)}), "[1, 6, 10] [1, 10, 1] 0 2 40"},
        Index{&kSbuf, taking({part(0, 2, 2)}),
              "tensor `{tensor}`: partition stride 2 is not supported."},
        Index{&kHbm, taking({part(2, 3, 3)}),
              "Out-of-bound access for tensor `{tensor}` on dimension 0: index range [2, 8] exceed "
              "dimension size of 8"},
        Index{&kHbm, taking({part(kTrip, 6)}), "[6, 6, 10] [60, 10, 1] -1 0 7 + 60*i"},
        Index{&kHbm, taking({part(kTrip, 7)}),
              "[7, 6, 10] [60, 10, 1] -1 0 7 + 60*i, index i [1] in 0 of 8"},
        Index{&kHbm, taking({part(variable(outer, -1).position, 2)}),
              "[2, 6, 10] [60, 10, 1] -1 0 -53 + 60*i, index -1 + i [1] in 0 of 8"},
        Index{&kHbm, taking({number(0), part(1, 2), masked(4, 7)}),
              "[2, 7] [10, 1] -1 0 21, index 4 [0, 1] in 2 of 10"},
        Index{&kHbm, taking({masked(7, 1)}), "[1, 6, 10] [60, 10, 1] -1 0 427"},
        Index{&kHbm, taking({masked(8, 1)}),
              "[1, 6, 10] [60, 10, 1] -1 0 487, index 8 [1] in 0 of 8"},
        Index{&kHbm, taking({masked(-1, 2)}),
              "Out-of-bound access for tensor `{tensor}` on dimension 0: index range [-1, 0] "
              "exceed dimension size of 8"},
        Index{&kHbm, taking({part(1, 1, INT64_MAX / 2)}), "an index expression is beyond 64 bits."},
        Index{&kHbm, taking({masked(INT64_MAX / 2, 1)}),
              "an index expression is beyond 64 bits."}));

INSTANTIATE_TEST_SUITE_P(
    NewAxesAndEllipses, IndexedView,
    testing::Values(
        Index{&kHbm, [](Subscript& of) { of.expect(0, 1), of.add_axis(); },
              "[1, 8, 6, 10] [0, 60, 10, 1] -1 0 7"},
        Index{&kHbm, [](Subscript& of) { of.expect(1, 0), of.skip(), of.take(number(2)); },
              "[8, 6] [60, 10] -1 0 9"},
        Index{&kHbm,
              [](Subscript& of) {
                of.expect(2, 0), of.take(number(1)), of.skip(), of.take(number(2));
              },
              "[6] [10] -1 0 69"},
        Index{&kHbm,
              [](Subscript& of) { of.expect(0, 2), of.add_axis(), of.skip(), of.add_axis(); },
              "[1, 8, 6, 10, 1] [0, 60, 10, 1, 0] -1 0 7"},
        Index{&kSbuf, [](Subscript& of) { of.expect(1, 0), of.skip(), of.take(part(3, 2)); },
              "[8, 6, 2] [1, 10, 1] 0 2 43"},
        Index{&kSbuf, [](Subscript& of) { of.expect(1, 1), of.take(part(3, 2)), of.add_axis(); },
              "[2, 1, 6, 10] [1, 0, 10, 1] 0 5 40"},
        Index{&kSbuf, [](Subscript& of) { of.expect(0, 1), of.skip(), of.add_axis(); },
              "[8, 6, 10, 1] [1, 10, 1, 0] 0 2 40"},
        Index{&kBlocked, [](Subscript& of) { of.expect(0, 1), of.add_axis(); },
              "tensor `{tensor}`: no dimension can be added before the partitions."},
        Index{&kHbm, [](Subscript& of) { of.expect(3, 2); }, "[8, 6, 10] [60, 10, 1] -1 0 7"},
        Index{&kHbm, [](Subscript& of) { of.expect(4, 2); },
              "too many indices for tensor `{tensor}`: it has 3 dimensions, 6 were indexed."},
        Index{&kHbm,
              [](Subscript& of) {
                of.expect(0, 10);
                for (int k = 0; k < 10; ++k) of.add_axis();
              },
              "a tensor has more than 12 dimensions."}));

const IndexExpression kDown{0, {4, 1}, {1, 0}}, kAcross{0, {1, 5}, {0, 1}};

auto gathering(const std::vector<IndexExpression>& indices,
               const std::vector<int64_t>& numbers = {}) {
  return [=](Subscript& of) {
    std::vector<GatherIndex> given;
    for (const IndexExpression& each : indices) given.push_back({.expression = &each});
    for (const int64_t each : numbers) given.push_back({.number = each});
    of.gather(given);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Gathers, IndexedView,
    testing::Values(
        Index{&kHbm, gathering({kDown, kAcross}, {3}), "[4, 5] [60, 10] -1 0 10"},
        Index{&kHbm, gathering({kDown, kAcross}, {-1}), "[4, 5] [60, 10] -1 0 16"},
        Index{&kHbm, gathering({kDown, kAcross}), "[4, 5, 10] [60, 10, 1] -1 0 7"},
        Index{&kHbm, gathering({scaled(kDown, 2, 1), scaled(kAcross, -1, 4)}),
              "[4, 5, 10] [120, -10, 1] -1 0 107"},
        Index{&kHbm, gathering({kDown, sum(kDown, kAcross), scaled(kDown, 3)}),
              "[4, 5] [73, 10] -1 0 7, index 0 [1, 1] in 1 of 6"},
        Index{&kSbuf, gathering({kDown, kAcross}), "[4, 5, 10] [1, 10, 1] 0 2 40"},
        Index{&kSbuf, gathering({sum(kDown, kI), kAcross}, {0}), "[4, 5] [1, 10] 0 2 + i 40"},
        Index{&kSbuf, gathering({scaled(kDown, 0, 3), kAcross}, {0}), "[4, 5] [0, 10] 0 5 40"},
        Index{&kSbuf, gathering({{3, {}, {}}, kAcross}, {0}), "[1, 5] [1, 10] 0 5 40"},
        Index{&kSbuf, gathering({{5, {1, 1}, {9, 9}}, kAcross}, {0}), "[1, 5] [1, 10] 0 7 40"},
        Index{&kBlocked, gathering({{1, {}, {}}, {2, {}, {}}, kDown, kAcross}),
              "[4, 5] [1, 1] 0 0 30"},
        Index{&kBlocked, gathering({kDown, kAcross}),
              "[4, 5, 4, 6] [18, 6, 1, 1] 2 0 0, index 0 [1, 0] in 0 of 2, index 0 [0, 1] in 1 of "
              "3"},
        Index{&kHbm, gathering({scaled(kDown, 1, 5), kAcross}, {0}),
              "[4, 5] [60, 10] -1 0 307, index 5 [1, 0] in 0 of 8"},
        Index{&kHbm, gathering({scaled(kDown, 1, 4), kAcross}, {0}), "[4, 5] [60, 10] -1 0 247"},
        Index{&kHbm, gathering({scaled(kDown, 1, -1), kAcross}, {0}),
              "[4, 5] [60, 10] -1 0 -53, index -1 [1, 0] in 0 of 8"},
        Index{&kHbm, gathering({kDown, kAcross}, {10}),
              "[4, 5] [60, 10] -1 0 17, index 10 [0, 0] in 2 of 10"}));

INSTANTIATE_TEST_SUITE_P(
    RefusedGathers, IndexedView,
    testing::Values(
        Index{&kHbm, gathering({arange(0, 4)}, {0, 0}),
              "indexing tensor `{tensor}` with 1d arange is not supported"},
        Index{&kHbm, gathering({kDown, kAcross}, {0, 0}),
              "too many indices for tensor `{tensor}`: it has 3 dimensions, 4 were indexed."},
        Index{&kHbm, gathering({kDown, {0, {3, 1}, {1, 0}}}),
              "index shapes [4, 1] and [3, 1] cannot be broadcast together."},
        Index{&kSbuf, gathering({scaled(kDown, -1, 3), kAcross}),
              "tensor `{tensor}`: partition stride -1 is not supported."},
        Index{&kSbuf, gathering({sum(kDown, kAcross), kAcross}),
              "Failed to infer tile from tensor '{tensor}': its partition dimension is indexed by "
              "dimension 1 of the tile; the first dimension of a tile is the partition dimension."},
        Index{&kHbm, gathering({scaled(kDown, INT64_MAX / 2), kAcross}),
              "an index expression is beyond 64 bits."}));

class SliceOfLoops : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {};

TEST_P(SliceOfLoops, HasTheElementsOfEachTrip) {
  const auto [offset, length, step] = GetParam();
  const SliceBound from{variable(outer, offset, 2).position, false};
  const SliceBound to{variable(outer, offset + length, 2).position, false};
  const Range range = slice_range(&from, &to, step, 100);
  EXPECT_EQ(range.start, from.position);
  for (int64_t i = 0; i < outer.trip_count; ++i) {
    int64_t count = 0;
    for (int64_t k = at(from.position, i, 0); k < at(to.position, i, 0); k += step) ++count;
    EXPECT_EQ(range.count, count);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, SliceOfLoops,
                         testing::Combine(testing::Values(0, 5), testing::Values(-1, 0, 1, 4, 5),
                                          testing::Values(1, 2, 4, 5)));

TEST(SliceBound, ThatIsAnExpressionDoesNotCountFromTheEnd) {
  const SliceBound from{-1, false}, number{-1, true};
  EXPECT_EQ(slice_range(&from, nullptr, 1, 6).start, Position(-1));
  EXPECT_EQ(slice_range(&from, nullptr, 1, 6).count, 7);
  EXPECT_EQ(slice_range(&number, nullptr, 1, 6).count, 1);
  EXPECT_EQ(slice_range(nullptr, &number, 1, 6).count, 5);
  EXPECT_EQ(slice_range(nullptr, &number, 1, 0).count, 0);
  EXPECT_EQ(refusal_of([] { slice_range(nullptr, nullptr, -1, 6); }),
            "tensor `{tensor}`: the step -1 of a slice is not positive.");
}

TEST(SliceBound, NamesAllLoopsThatItsSizeNeeds) {
  const SliceBound from{kI.position, false}, to{sum(kJ, {3, {}, {}}).position, false};
  EXPECT_EQ(refusal_of([&] { slice_range(&from, &to, 1, 6); }), "needs j i");
}

}  // namespace
}  // namespace neuron_sim::tracing
