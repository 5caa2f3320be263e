#include "device/tracing/access_pattern.h"

#include <algorithm>

namespace neuron_sim::tracing {

bool has_blocks(const TensorView& view) {
  return std::any_of(view.shape.begin(), view.shape.begin() + std::max(view.axis, 0),
                     [](int64_t size) { return size != 1; });
}

void append_access(const TensorView& view, const IndexedRows& indexed,
                   std::vector<Dimension>& dimensions) {
  for (auto d = static_cast<size_t>(std::max(view.axis, 0)); d < view.shape.size(); ++d) {
    dimensions.push_back({view.shape[d], view.steps[d]});
  }
  const bool is_indexed = indexed.rows >= 0;
  if (is_indexed) {
    dimensions.at(0) = {std::min(view.shape[0], indexed.rows), indexed.stride};
  }
  if (dimensions.size() > kMaximumRank) merge(dimensions, view.axis < 0 && !is_indexed ? 0 : 1);
  if (dimensions.empty()) dimensions.push_back({1, 1});
}

bool is_splittable(const std::vector<Dimension>& dimensions) {
  return dimensions.size() > kMaximumRank ||
         std::any_of(dimensions.begin(), dimensions.end(),
                     [](const Dimension& each) { return each.stride < 0; });
}

void merge(std::vector<Dimension>& dimensions, size_t first) {
  size_t kept = first;
  for (size_t i = first; i < dimensions.size(); ++i) {
    const Dimension next = dimensions[i];
    if (next.size == 1) continue;
    const bool continues = kept > first && dimensions[kept - 1].stride == next.stride * next.size;
    if (!continues) ++kept;
    dimensions[kept - 1] = {continues ? dimensions[kept - 1].size * next.size : next.size,
                            next.stride};
  }
  dimensions.resize(kept);
  if (kept == first) dimensions.push_back({1, 1});
}

}  // namespace neuron_sim::tracing
