// Chains of views against lists of their elements that NumPy's rules are applied to one by one.

#include <gtest/gtest.h>

#include "device/tracing/view_shapes.h"
#include "tests/device/tracing/element_list.h"

namespace neuron_sim::tracing {
namespace {

/// A view, and the list that the same operations make of the elements of the first one.
class ViewChain : public testing::TestWithParam<int> {
 protected:
  Draws draws{GetParam()};
  TensorView view = TensorView::dense({4, 6, 8}, GetParam() % 2 == 0 ? 0 : -1);
  ElementList expected = elements_of(view);

  size_t drawn_dimension(size_t first) {
    return static_cast<size_t>(
        draws.number(static_cast<int64_t>(first), static_cast<int64_t>(view.shape.size()) - 1));
  }
  /// A part of every dimension; in HBM numbers drop theirs.
  void slice() {
    Subscript subscript(view);
    Sizes shape, first, step;
    std::vector<size_t> kept;
    for (size_t d = 0; d < view.shape.size(); ++d) {
      const bool is_axis = static_cast<int>(d) == view.axis;
      Range range{.start = draws.number(0, (view.shape[d] - 1) / 2),
                  .step = is_axis ? 1 : draws.number(1, 2),
                  .stays = is_axis || draws.number(0, 4) > 0};
      const int64_t last = (view.shape[d] - 1 - range.start.constant) / range.step;
      range.count = range.stays ? draws.number(1, last + 1) : 1;
      first.push_back(range.start.constant);
      step.push_back(range.step);
      if (range.stays) {
        kept.push_back(d);
        shape.push_back(range.count);
      }
      subscript.take(range);
    }
    view = subscript.result();
    expected = expected.at(shape, [&](const Sizes& p) {
      Sizes old = first;
      for (size_t k = 0; k < kept.size(); ++k) old[kept[k]] += step[kept[k]] * p[k];
      return old;
    });
    if (view.shape.size() != shape.size()) {  // on chip two dimensions are left
      expected.shape = view.shape;
    }
  }
  void permute() {
    const size_t first = static_cast<size_t>(view.axis + 1), rank = view.shape.size();
    std::vector<int64_t> order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
    std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(), draws.generator);
    Sizes shape = view.shape;
    for (size_t d = 0; d < rank; ++d) shape[d] = view.shape[static_cast<size_t>(order[d])];
    expected = expected.at(shape, [&](const Sizes& p) {
      Sizes old = p;
      for (size_t d = 0; d < rank; ++d) old[static_cast<size_t>(order[d])] = p[d];
      return old;
    });
    view = permuted(view, order, view.axis);
  }
  void add_axis_and_repeat_it() {
    if (view.shape.size() > 5) return;
    const auto rank = static_cast<int64_t>(view.shape.size());
    const int64_t place = draws.number(view.axis + 1, rank);
    const int64_t given[] = {draws.number(0, 1) == 0 ? place : place - rank - 1};
    view = with_new_axes(view, given);
    Sizes shape = view.shape;
    shape[static_cast<size_t>(place)] = draws.number(1, 3);
    view = broadcast_to(view, shape);
    expected = expected.at(shape, [&](const Sizes& p) {
      Sizes old = p;
      old.erase(old.begin() + place);
      return old;
    });
  }
  /// Two adjacent dimensions as one, which only some steps allow.
  void merge_two() {
    const size_t first = static_cast<size_t>(view.axis + 1);
    if (view.shape.size() < first + 2) return;
    const size_t d = drawn_dimension(first + 1);
    Sizes shape = view.shape;
    shape[d - 1] *= shape[d];
    shape.erase(shape.begin() + d);
    ElementList merged = expected;
    merged.shape = shape;
    const bool can_be = has_steps(merged);
    EXPECT_EQ(refusal_of([&] { view = reshaped(view, shape); }).empty(), can_be);
    if (can_be) expected = merged;
  }
  void split_one() {
    const size_t first = static_cast<size_t>(view.axis + 1);
    if (view.shape.size() <= first || view.shape.size() > 5) return;
    const size_t d = drawn_dimension(first);
    Sizes shape = view.shape;
    const int64_t inner = shape[d] % 3 == 0 ? 3 : shape[d] % 2 == 0 ? 2 : 1;
    shape[d] /= inner;
    shape.push_back(inner);
    std::rotate(shape.begin() + d + 1, shape.end() - 1, shape.end());
    view = reshaped(view, shape);
    expected.shape = shape;
  }
};

TEST_P(ViewChain, HasTheElementsOfEachOfItsSteps) {
  for (int step = 0; step < 8; ++step) {
    switch (draws.number(0, 4)) {
      case 0: slice(); break;
      case 1: permute(); break;
      case 2: add_axis_and_repeat_it(); break;
      case 3: merge_two(); break;
      default: split_one();
    }
    ASSERT_EQ(elements_of(view), expected) << "step " << step;
  }
  EXPECT_TRUE(view.checks.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ViewChain, testing::Range(0, 60));

}  // namespace
}  // namespace neuron_sim::tracing
