#include "device/tracing/view_shapes.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

using Axes = std::vector<int64_t>;

const TensorView kTensor{-1, {4, 6, 10}, {60, 10, 1}, 0, 7, {}};
const TensorView kTileOnChip{0, {4, 6, 10}, {1, 10, 1}, 2, 40, {}};
/// Of [2, 3] blocks of 4 partitions with 6 elements.
const TensorView kBlocks{2, {2, 3, 4, 6}, {18, 6, 1, 1}, 0, 0, {}};

struct Reshape {
  const char* name;
  TensorView view;
};
void PrintTo(const Reshape& reshape, std::ostream* stream) { *stream << reshape.name; }
/// All views have 240 elements of [4, 6, 10], all shapes as many.
const Reshape kViews[] = {{"DenseInHbm", kTensor},
                          {"DenseOnChip", kTileOnChip},
                          {"PartOfItsColumns", {-1, {4, 6, 10}, {120, 20, 1}, 0, 3, {}}},
                          {"PartOfItsRows", {-1, {4, 6, 10}, {80, 10, 1}, 0, 3, {}}},
                          {"EverySecondElement", {0, {4, 6, 10}, {1, 20, 2}, 0, 0, {}}},
                          {"TransposedOnChip", {0, {4, 6, 10}, {1, 1, 6}, 0, 0, {}}},
                          {"TransposedInHbm", {-1, {4, 6, 10}, {1, 40, 4}, 0, 0, {}}},
                          {"RepeatedColumns", {0, {4, 6, 10}, {1, 1, 0}, 0, 0, {}}},
                          {"RepeatedRows", {-1, {4, 6, 10}, {0, 10, 1}, 0, 0, {}}},
                          {"BackwardsInHbm", {-1, {4, 6, 10}, {-60, -10, -1}, 0, 239, {}}}};
const Sizes kShapes[] = {{4, 6, 10},    {4, 60},       {24, 10},       {240},         {4, 6, 2, 5},
                         {4, 2, 3, 10}, {2, 2, 6, 10}, {4, 1, 6, 10},  {1, 4, 6, 10}, {4, 6, 10, 1},
                         {4, 10, 6},    {6, 4, 10},    {4, 3, 20},     {8, 30},       {4, 4, 15},
                         {4, 12, 5},    {2, 120},      {4, 3, 2, 5, 2}};

class ReshapedView : public testing::TestWithParam<std::tuple<Reshape, Sizes>> {};

TEST_P(ReshapedView, HasItsElementsInTheirOrderOrNoStepsThatLeadToThem) {
  const auto& [reshape, shape] = GetParam();
  ElementList expected = elements_of(reshape.view);
  expected.shape = shape;
  TensorView made;
  const std::string refusal = refusal_of([&] { made = reshaped(reshape.view, shape); });
  if (refusal.empty()) {
    EXPECT_EQ(elements_of(made), expected);
    return;
  }
  // On chip the partitions stay one dimension, and so does a broadcast one whose step is kept.
  const bool keeps_partitions = reshape.view.axis < 0 || shape[0] == 4 || shape[0] == 1;
  EXPECT_FALSE(keeps_partitions && has_steps(expected)) << refusal;
}

INSTANTIATE_TEST_SUITE_P(All, ReshapedView,
                         testing::Combine(testing::ValuesIn(kViews), testing::ValuesIn(kShapes)));

struct Shaped {
  TensorView view;
  Sizes shape;
  const char* result;  ///< "shape steps axis", or the refusal
};
std::string described(const TensorView& view) {
  return text_of(view.shape) + " " + text_of(view.steps) + " " + std::to_string(view.axis);
}
class ShapedView : public testing::TestWithParam<Shaped> {
 protected:
  template <class Make>
  void expect_result(Make make) const {
    std::string result;
    const std::string refusal =
        refusal_of([&] { result = described(make(GetParam().view, GetParam().shape)); });
    EXPECT_EQ(refusal.empty() ? result : refusal, GetParam().result);
  }
};

class ReshapedEdge : public ShapedView {};

TEST_P(ReshapedEdge, HasTheseStepsOrSaysWhyNot) { expect_result(reshaped); }

INSTANTIATE_TEST_SUITE_P(
    Inferred, ReshapedEdge,
    testing::Values(
        Shaped{kTensor, {-1}, "[240] [1] -1"}, Shaped{kTensor, {-1, 10}, "[24, 10] [10, 1] -1"},
        Shaped{kTensor, {4, -1, 10}, "[4, 6, 10] [60, 10, 1] -1"},
        Shaped{kTensor, {240, -1}, "[240, 1] [1, 1] -1"},
        Shaped{kTileOnChip, {4, -1}, "[4, 60] [1, 1] 0"},
        Shaped{kTensor,
               {-1, 7},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [34, 7]: the number of elements "
               "differs."},
        Shaped{kTensor,
               {-1, 0},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [0, 0]: the number of elements "
               "differs."},
        Shaped{kTensor,
               {-1, -1, 10},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [-1, -1, 10]: the number of "
               "elements differs."}));

INSTANTIATE_TEST_SUITE_P(
    Sizes, ReshapedEdge,
    testing::Values(
        Shaped{kTensor,
               {239},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [239]: the number of elements "
               "differs."},
        Shaped{kTensor,
               {241},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [241]: the number of elements "
               "differs."},
        Shaped{kTensor,
               {-2, -120},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [-2, -120]: the number of elements "
               "differs."},
        Shaped{kTensor,
               {INT64_MAX, 2, 2},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [9223372036854775807, 2, 2]: the "
               "number of elements differs."},
        Shaped{kTensor,
               {},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to []: the number of elements "
               "differs."},
        Shaped{{-1, {}, {}, 0, 5, {}}, {1, 1}, "[1, 1] [1, 1] -1"},
        Shaped{{-1, {1, 1}, {7, 9}, 0, 5, {}}, {}, "[] [] -1"},
        Shaped{{-1, {0, 6}, {6, 1}, 0, 0, {}}, {3, 0, 2}, "[3, 0, 2] [0, 2, 1] -1"},
        Shaped{{-1, {0, 6}, {6, 1}, 0, 0, {}}, {0}, "[0] [1] -1"},
        Shaped{{0, {4, 0}, {1, 1}, 0, 0, {}}, {4, 0, 3}, "[4, 0, 3] [1, 3, 1] 0"},
        Shaped{{-1, {0, 6}, {6, 1}, 0, 0, {}},
               {6},
               "cannot reshape tensor '{tensor}[0, 6]' to [6]: the number of elements differs."}));

INSTANTIATE_TEST_SUITE_P(
    Partitions, ReshapedEdge,
    testing::Values(
        Shaped{kTileOnChip, {1, 4, 60}, "[1, 4, 60] [1, 1, 1] 1"},
        Shaped{kTileOnChip,
               {2, 2, 60},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [2, 2, 60]: the partition dimension "
               "of size 4 cannot be split or merged."},
        Shaped{kTileOnChip,
               {24, 10},
               "cannot reshape tensor '{tensor}[4, 6, 10]' to [24, 10]: the partition dimension "
               "of size 4 cannot be split or merged."},
        Shaped{kBlocks, {6, 4, 6}, "[6, 4, 6] [6, 1, 1] 1"},
        Shaped{kBlocks, {6, 4, 2, 3}, "[6, 4, 2, 3] [6, 1, 3, 1] 1"},
        Shaped{kBlocks, {3, 2, 4, 6}, "[3, 2, 4, 6] [12, 6, 1, 1] 2"},
        Shaped{kBlocks,
               {2, 12, 6},
               "cannot reshape tensor '{tensor}[2, 3, 4, 6]' to [2, 12, 6]: the partition "
               "dimension of size 4 cannot be split or merged."},
        // The first 4 follows 2 blocks, of which there are 6.
        Shaped{{1, {6, 4, 4}, {4, 1, 1}, 0, 0, {}},
               {2, 4, 3, 4},
               "cannot reshape tensor '{tensor}[6, 4, 4]' to [2, 4, 3, 4]: the partition dimension "
               "of size 4 cannot be split or merged."},
        Shaped{{1, {4, 4, 4}, {4, 1, 1}, 0, 0, {}}, {4, 4, 2, 2}, "[4, 4, 2, 2] [4, 1, 2, 1] 1"}));

class RepeatedView : public ShapedView {};

TEST_P(RepeatedView, HasTheseStepsOrSaysWhyNot) { expect_result(broadcast_to); }

const TensorView kSingleRow{0, {4, 1, 10}, {1, 3, 1}, 0, 0, {}};

INSTANTIATE_TEST_SUITE_P(
    Edges, RepeatedView,
    testing::Values(Shaped{kSingleRow, {4, 1, 10}, "[4, 1, 10] [1, 3, 1] 0"},
                    Shaped{kSingleRow, {4, 6, 10}, "[4, 6, 10] [1, 0, 1] 0"},
                    Shaped{kSingleRow, {4, 0, 10}, "[4, 0, 10] [1, 0, 1] 0"},
                    Shaped{kSingleRow, {4, 2, 6, 10}, "[4, 2, 6, 10] [1, 0, 0, 1] 0"},
                    Shaped{kSingleRow, {4, 1, 1, 10}, "[4, 1, 1, 10] [1, 0, 3, 1] 0"},
                    Shaped{{-1, {1, 10}, {10, 1}, 0, 0, {}}, {4, 10}, "[4, 10] [0, 1] -1"},
                    Shaped{{-1, {10}, {1}, 0, 0, {}}, {3, 4, 10}, "[3, 4, 10] [0, 0, 1] -1"},
                    Shaped{{-1, {}, {}, 0, 0, {}}, {3, 4}, "[3, 4] [0, 0] -1"},
                    Shaped{kSingleRow,
                           {4, 6, 9},
                           "cannot broadcast tensor '{tensor}[4, 1, 10]' to shape [4, 6, 9]."},
                    Shaped{kSingleRow,
                           {1, 6, 10},
                           "cannot broadcast tensor '{tensor}[4, 1, 10]' to shape [1, 6, 10]."},
                    Shaped{kSingleRow,
                           {4, 10},
                           "cannot broadcast tensor '{tensor}[4, 1, 10]' to shape [4, 10]."},
                    Shaped{kSingleRow,
                           {4, -6, 10},
                           "cannot broadcast tensor '{tensor}[4, 1, 10]' to shape [4, -6, 10]."},
                    Shaped{{0, {1, 1, 10}, {1, 10, 1}, 0, 0, {}},
                           {4, 1, 10},
                           "cannot broadcast tensor '{tensor}[1, 1, 10]' to shape [4, 1, 10]."},
                    Shaped{{1, {1, 4, 1}, {4, 1, 1}, 0, 0, {}},
                           {2, 4, 3},
                           "cannot broadcast tensor '{tensor}[1, 4, 1]' to shape [2, 4, 3]."}));

class ViewWithNewAxes : public ShapedView {};

TEST_P(ViewWithNewAxes, HasTheseStepsOrSaysWhyNot) {
  expect_result([](const TensorView& view, const Sizes& axes) {
    return with_new_axes(view, Axes(axes.begin(), axes.end()));
  });
}

INSTANTIATE_TEST_SUITE_P(
    Edges, ViewWithNewAxes,
    testing::Values(
        Shaped{kTensor, {0}, "[1, 4, 6, 10] [0, 60, 10, 1] -1"},
        Shaped{kTensor, {3}, "[4, 6, 10, 1] [60, 10, 1, 0] -1"},
        Shaped{kTensor, {-1}, "[4, 6, 10, 1] [60, 10, 1, 0] -1"},
        Shaped{kTensor, {-4}, "[1, 4, 6, 10] [0, 60, 10, 1] -1"},
        Shaped{kTensor, {1, 3}, "[4, 1, 6, 1, 10] [60, 0, 10, 0, 1] -1"},
        Shaped{kTensor, {}, "[4, 6, 10] [60, 10, 1] -1"},
        Shaped{kTileOnChip, {1}, "[4, 1, 6, 10] [1, 0, 10, 1] 0"},
        Shaped{kTileOnChip, {-3}, "[4, 1, 6, 10] [1, 0, 10, 1] 0"},
        Shaped{kBlocks, {3}, "[2, 3, 4, 1, 6] [18, 6, 1, 0, 1] 2"},
        Shaped{
            kTensor, {4}, "expand_dims of '{tensor}[4, 6, 10]': no dimension can be added at 4."},
        Shaped{
            kTensor, {-5}, "expand_dims of '{tensor}[4, 6, 10]': no dimension can be added at -5."},
        Shaped{kTileOnChip,
               {0},
               "expand_dims of '{tensor}[4, 6, 10]': no dimension can be added at 0."},
        Shaped{kTileOnChip,
               {-4},
               "expand_dims of '{tensor}[4, 6, 10]': no dimension can be added at -4."},
        Shaped{
            kBlocks, {2}, "expand_dims of '{tensor}[2, 3, 4, 6]': no dimension can be added at 2."},
        Shaped{kTensor,
               {0, 0, 0, 0, 0, 0, 0, 0, 0},
               "[1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 6, 10] [0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 10, 1] -1"},
        Shaped{kTensor, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "a tensor has more than 12 dimensions."}));

TEST(ViewWithoutAnAxis, HasItsPartitionsOnePlaceFurtherAheadWhenItWasBeforeThem) {
  const TensorView view{1, {1, 4, 1, 6}, {9, 1, 7, 1}, 0, 0, {}};
  EXPECT_EQ(described(without_axis(view, 0)), "[4, 1, 6] [1, 7, 1] 0");
  EXPECT_EQ(described(without_axis(view, 2)), "[1, 4, 6] [9, 1, 1] 1");
  EXPECT_EQ(described(without_axis({-1, {1}, {3}, 0, 0, {}}, 0)), "[] [] -1");
}

struct Permutation {
  const TensorView* view;
  Axes order;
  int fixed;
  const char* result;
};
class PermutedView : public testing::TestWithParam<Permutation> {};

TEST_P(PermutedView, HasTheElementsOfThatOrderOrSaysWhyNot) {
  const auto& [view, order, fixed, expected] = GetParam();
  TensorView made;
  const std::string refusal =
      refusal_of([&, o = order, f = fixed, v = view] { made = permuted(*v, o, f); });
  EXPECT_EQ(refusal, expected);
  if (!refusal.empty()) return;
  Sizes shape = view->shape;
  for (size_t i = 0; i < order.size(); ++i) shape[i] = view->shape[static_cast<size_t>(order[i])];
  EXPECT_EQ(elements_of(made), elements_of(*view).at(shape, [o = order](const Sizes& p) {
    Sizes old = p;
    for (size_t i = 0; i < o.size(); ++i) old[static_cast<size_t>(o[i])] = p[i];
    return old;
  }));
}

INSTANTIATE_TEST_SUITE_P(
    Orders, PermutedView,
    testing::Values(
        Permutation{&kTensor, {0, 1, 2}, -1, ""}, Permutation{&kTensor, {1, 2, 0}, -1, ""},
        Permutation{&kTensor, {2, 0, 1}, -1, ""}, Permutation{&kTensor, {2, 1, 0}, -1, ""},
        Permutation{&kTileOnChip, {0, 2, 1}, 0, ""}, Permutation{&kBlocks, {1, 0, 2, 3}, 2, ""},
        Permutation{&kBlocks, {3, 1, 2, 0}, 2, ""}, Permutation{&kTensor, {0, 2, 1}, 0, ""},
        Permutation{&kTileOnChip,
                    {1, 0, 2},
                    0,
                    "permute of '{tensor}[4, 6, 10]': dimension 0 is the partition dimension, "
                    "which stays as it is."},
        Permutation{&kTensor,
                    {1, 0, 2},
                    0,
                    "permute of '{tensor}[4, 6, 10]': dimension 0 is the partition dimension, "
                    "which stays as it is."},
        Permutation{&kBlocks,
                    {0, 2, 1, 3},
                    2,
                    "permute of '{tensor}[2, 3, 4, 6]': dimension 2 is the partition dimension, "
                    "which stays as it is."},
        Permutation{&kTensor,
                    {0, 1},
                    -1,
                    "permute of '{tensor}[4, 6, 10]': [0, 1] does not name each of its dimensions "
                    "once."},
        Permutation{&kTensor,
                    {0, 1, 1},
                    -1,
                    "permute of '{tensor}[4, 6, 10]': [0, 1, 1] does not name each of its "
                    "dimensions once."},
        Permutation{&kTensor,
                    {0, 1, 3},
                    -1,
                    "permute of '{tensor}[4, 6, 10]': [0, 1, 3] does not name each of its "
                    "dimensions once."},
        Permutation{&kTensor,
                    {0, 1, -1},
                    -1,
                    "permute of '{tensor}[4, 6, 10]': [0, 1, -1] does not name each of its "
                    "dimensions once."},
        Permutation{&kTensor,
                    {0, 1, 2, 2},
                    -1,
                    "permute of '{tensor}[4, 6, 10]': [0, 1, 2, 2] does not name each of its "
                    "dimensions once."}));

}  // namespace
}  // namespace neuron_sim::tracing
