#include "device/tracing/loop_writes.h"

#include <algorithm>

#include "device/tracing/view_shapes.h"

namespace neuron_sim::tracing {
namespace {

bool names(const Position& address, const Loop& loop) {
  return std::any_of(address.terms.begin(), address.terms.end(),
                     [&loop](const Term& term) { return term.loop == &loop; });
}

}  // namespace

LoopWrite write_in(const Loop& loop, const TensorView& target, bool is_dynamic,
                   const StorageUses& uses) {
  if (uses.made_at >= loop.opened_at || uses.last_use > loop.opened_at) return LoopWrite::kFresh;
  const bool differs = is_dynamic || names(target.start, loop) || names(target.partition, loop);
  return loop.is_affine && !differs ? LoopWrite::kRepeated : LoopWrite::kElsewhere;
}

bool covers_tile(const TensorView& view, std::span<const int64_t> shape) {
  return view.axis >= 0 && element_count(view.shape) == element_count(shape);
}

}  // namespace neuron_sim::tracing
