// Views as elements of another size, and what is dense of them.

#include <gtest/gtest.h>

#include "device/tracing/view_shapes.h"
#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

/// The bytes of a view of elements of a size in row-major order, each with its partition.
std::vector<Element> bytes_of(const TensorView& view, int64_t size, int64_t i) {
  std::vector<Element> bytes;
  for (const auto& [partition, element] : elements_of(view, i).elements) {
    for (int64_t byte = 0; byte < size; ++byte) bytes.push_back({partition, element * size + byte});
  }
  return bytes;
}

struct Reinterpretation {
  TensorView view;
  int64_t old_bytes, new_bytes;
  const char* shape;  ///< or the refusal
};
class ReinterpretedView : public testing::TestWithParam<Reinterpretation> {};

TEST_P(ReinterpretedView, HasTheSameBytesOrSaysWhyNot) {
  const Reinterpretation& given = GetParam();
  TensorView made;
  const std::string refusal =
      refusal_of([&] { made = reinterpreted(given.view, given.old_bytes, given.new_bytes); });
  EXPECT_EQ(refusal.empty() ? text_of(made.shape) : refusal, given.shape);
  for (int64_t i = 0; refusal.empty() && i < outer.trip_count; ++i) {
    EXPECT_EQ(bytes_of(made, given.new_bytes, i), bytes_of(given.view, given.old_bytes, i));
  }
}

TensorView rows_from(const Position& start, int64_t step = 12, int64_t width = 8) {
  return {0, {4, 3, width}, {1, step, 1}, 1, start, {}};
}
const Position kLoop = variable(outer).position, kEven = variable(outer, 2, 2).position;
const char* const kLast =
    "view of '{tensor}[4, 3, 8]' with elements of 4 bytes: the bytes of the last dimension must be "
    "contiguous and a whole number of elements.";

INSTANTIATE_TEST_SUITE_P(
    Wider, ReinterpretedView,
    testing::Values(
        Reinterpretation{rows_from(6), 2, 4, "[4, 3, 4]"},
        Reinterpretation{rows_from(4), 1, 4, "[4, 3, 2]"},
        Reinterpretation{rows_from(kEven), 2, 4, "[4, 3, 4]"},
        Reinterpretation{rows_from(7), 2, 4,
                         "view of '{tensor}[4, 3, 8]': its start is not a whole number of elements "
                         "of 4 bytes."},
        Reinterpretation{rows_from(variable(outer, 1, 2).position), 2, 4,
                         "view of '{tensor}[4, 3, 8]': its start is not a whole number of elements "
                         "of 4 bytes."},
        Reinterpretation{rows_from(kLoop), 2, 4, "needs i"},
        Reinterpretation{rows_from(kLoop), 1, 4, "needs i"},
        Reinterpretation{rows_from(0, 11), 2, 4,
                         "view of '{tensor}[4, 3, 8]': stride 11 of dimension 1 is not a whole "
                         "number of elements of 4 bytes."},
        Reinterpretation{rows_from(0, -12), 2, 4, "[4, 3, 4]"},
        Reinterpretation{rows_from(0, 0), 2, 4, "[4, 3, 4]"},
        Reinterpretation{rows_from(0, 12, 7), 2, 4,
                         "view of '{tensor}[4, 3, 7]' with elements of 4 bytes: the bytes of the "
                         "last dimension must be contiguous and a whole number of elements."},
        Reinterpretation{{0, {4, 3, 8}, {1, 24, 2}, 0, 0, {}}, 2, 4, kLast},
        Reinterpretation{{0, {4, 3, 8}, {1, 1, 3}, 0, 0, {}}, 2, 4, kLast}));

INSTANTIATE_TEST_SUITE_P(
    Narrower, ReinterpretedView,
    testing::Values(
        Reinterpretation{rows_from(7), 4, 2, "[4, 3, 16]"},
        Reinterpretation{rows_from(kLoop, 11), 4, 1, "[4, 3, 32]"},
        Reinterpretation{rows_from(3, 12, 1), 4, 2, "[4, 3, 2]"},
        Reinterpretation{rows_from(3, 12, 0), 4, 2, "[4, 3, 0]"},
        Reinterpretation{{0, {4, 3, 1}, {1, 5, 9}, 0, 0, {}}, 4, 2, "[4, 3, 2]"},
        Reinterpretation{{0, {4, 3, 8}, {1, 24, 2}, 0, 0, {}}, 2, 2, "[4, 3, 8]"},
        Reinterpretation{rows_from(INT64_MAX / 2), 4, 2, "an index expression is beyond 64 bits."},
        Reinterpretation{{-1, {}, {}, 0, 0, {}},
                         4,
                         2,
                         "view of '{tensor}[]' with elements of 2 bytes: the bytes of the last "
                         "dimension must be contiguous and a whole number of elements."},
        Reinterpretation{{0, {4}, {1}, 0, 0, {}},
                         4,
                         2,
                         "view of '{tensor}[4]' with elements of 2 bytes: the bytes of the last "
                         "dimension must be contiguous and a whole number of elements."}));

struct Density {
  TensorView view;
  bool is_dense;
};
class DenseView : public testing::TestWithParam<Density> {};

TEST_P(DenseView, HasElementsOfAPartitionThatFollowEachOther) {
  EXPECT_EQ(is_contiguous(GetParam().view), GetParam().is_dense);
  const ElementList list = elements_of(GetParam().view);
  bool follows = true;
  for (size_t k = 1; k < list.elements.size(); ++k) {
    const Element &before = list.elements[k - 1], &now = list.elements[k];
    follows = follows && (now.first != before.first || now.second == before.second + 1);
  }
  EXPECT_EQ(follows, GetParam().is_dense);
}

INSTANTIATE_TEST_SUITE_P(Edges, DenseView,
                         testing::Values(Density{{0, {4, 3, 8}, {1, 8, 1}, 0, 5, {}}, true},
                                         Density{{0, {4, 3, 8}, {1, 9, 1}, 0, 5, {}}, false},
                                         Density{{0, {4, 1, 8}, {1, 9, 1}, 0, 5, {}}, true},
                                         Density{{0, {4, 3, 8}, {1, 16, 2}, 0, 5, {}}, false},
                                         Density{{0, {4, 3, 1}, {1, 1, 7}, 0, 5, {}}, true},
                                         Density{{0, {4, 3, 8}, {1, 1, 3}, 0, 5, {}}, false},
                                         Density{{-1, {4, 3, 8}, {24, 8, 1}, 0, 5, {}}, true},
                                         Density{{-1, {4, 3, 8}, {25, 8, 1}, 0, 5, {}}, false},
                                         Density{{-1, {3, 8}, {0, 1}, 0, 5, {}}, false},
                                         Density{{-1, {}, {}, 0, 5, {}}, true}));

}  // namespace
}  // namespace neuron_sim::tracing
