#pragma once
// The oracle of views: the elements that one names, written out one by one in row-major order.

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {

/// A partition, and an element of it.
using Element = std::pair<int64_t, int64_t>;

/// What a view is after all: a shape, and an element for each of its positions.
struct ElementList {
  Sizes shape;
  std::vector<Element> elements;
  bool operator==(const ElementList&) const = default;

  /// The number of a position in row-major order.
  size_t number(const Sizes& positions) const {
    int64_t result = 0;
    for (size_t d = 0; d < shape.size(); ++d) result = result * shape[d] + positions[d];
    return static_cast<size_t>(result);
  }
  /// Of another shape, whose position p is old(p) here.
  ElementList at(const Sizes& of, const std::function<Sizes(const Sizes&)>& old) const {
    ElementList result{of, {}};
    for_positions(of, [&](const Sizes& p) { result.elements.push_back(elements[number(old(p))]); });
    return result;
  }
};

/// The elements of a view in one iteration.
inline ElementList elements_of(const TensorView& view, int64_t i = 0, int64_t j = 0) {
  ElementList result{view.shape, {}};
  for_positions(view.shape, [&](const Sizes& p) {
    Element element{at(view.partition, i, j), at(view.start, i, j)};
    for (size_t d = 0; d < p.size(); ++d) {
      const bool is_axis = static_cast<int>(d) == view.axis;
      (is_axis ? element.first : element.second) += view.steps[d] * p[d];
    }
    result.elements.push_back(element);
  });
  return result;
}

/// Whether one step per dimension leads to all elements: what a view can express.
inline bool has_steps(const ElementList& list) {
  bool result = true;
  for_positions(list.shape, [&](const Sizes& p) {
    Element expected = list.elements[0];
    for (size_t d = 0; d < p.size(); ++d) {
      if (p[d] == 0) continue;
      Sizes next(p.size(), 0);
      next[d] = 1;
      const Element& one = list.elements[list.number(next)];
      expected.first += p[d] * (one.first - list.elements[0].first);
      expected.second += p[d] * (one.second - list.elements[0].second);
    }
    result = result && list.elements[list.number(p)] == expected;
  });
  return result;
}

/// Whether the checks of a view hold in one iteration.
inline bool holds(const TensorView& view, int64_t i, int64_t j) {
  bool result = true;
  for (const IndexCheck& check : view.checks) {
    for_positions(view.shape, [&](const Sizes& p) {
      int64_t index = at(check.start, i, j);
      for (size_t d = 0; d < check.steps.size(); ++d) index += check.steps[d] * p[d];
      result = result && index >= 0 && index < check.size;
    });
  }
  return result;
}

}  // namespace neuron_sim::tracing
