#include "ops/graph/kernels/iteration_space.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Longest stride of tensor `link` first; false when it repeats along a dimension.
bool order_by(IterationSpace& space, size_t link) {
  std::erase_if(space, [](const SharedDimension& dimension) { return dimension.size == 1; });
  std::stable_sort(space.begin(), space.end(),
                   [&](const SharedDimension& a, const SharedDimension& b) {
                     return a.strides[link] > b.strides[link];
                   });
  return std::all_of(space.begin(), space.end(), [&](const SharedDimension& dimension) {
    return dimension.strides[link] != 0;
  });
}

/// Takes the fastest `size` steps off the last dimension of `space`.
SharedDimension take(IterationSpace& space, int64_t size) {
  SharedDimension& last = space.back();
  SharedDimension taken{size, last.strides};
  if (last.size == size) {
    space.pop_back();
    return taken;
  }
  last.size /= size;
  for (int64_t& stride : last.strides) stride *= size;
  return taken;
}

}  // namespace

std::optional<std::pair<IterationSpace, IterationSpace>> matched(IterationSpace first,
                                                                 size_t first_link,
                                                                 IterationSpace second,
                                                                 size_t second_link) {
  if (!order_by(first, first_link) || !order_by(second, second_link)) return std::nullopt;
  IterationSpace a, b;
  while (!first.empty() && !second.empty()) {
    const int64_t size = std::min(first.back().size, second.back().size);
    const bool splits = first.back().size % size == 0 && second.back().size % size == 0;
    if (!splits || first.back().strides[first_link] != second.back().strides[second_link]) {
      return std::nullopt;
    }
    a.push_back(take(first, size));
    b.push_back(take(second, size));
  }
  if (!first.empty() || !second.empty()) return std::nullopt;
  std::reverse(a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  return std::pair{std::move(a), std::move(b)};
}

}  // namespace neuron_sim
