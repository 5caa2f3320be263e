#include "ops/conv2d/window.h"

#include <algorithm>

#include "device/isa/movement/memset.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

/// GpSimd has nothing else to do while images stream by.
void clear(Builder& builder, const View& tile, int axis, int64_t start, int64_t count) {
  if (count == 0 || tile.free_elements() == 0) return;
  builder.emit(Memset{.dst = tile.slice(axis, start, count), .engine = EngineKind::kGpSimd});
}

}  // namespace

ClippedAxis clip_axis(const Affine& origin, int64_t size, int64_t extent) {
  if (!origin.is_constant()) return {origin, 0, size, 0};
  const int64_t first = origin.constant();
  const int64_t lead = std::clamp<int64_t>(-first, 0, size);
  const int64_t end = std::clamp<int64_t>(extent - first, lead, size);
  return {first + lead, lead, end - lead, size - end};
}

void clear_borders(Builder& builder, const View& tile, const std::array<ClippedAxis, 2>& axes) {
  const auto& [rows, columns] = axes;
  clear(builder, tile, 2, 0, rows.lead);
  clear(builder, tile, 2, rows.lead + rows.count, rows.trail);
  if (rows.count == 0) return;
  const View middle = tile.slice(2, rows.lead, rows.count);
  clear(builder, middle, 3, 0, columns.lead);
  clear(builder, middle, 3, columns.lead + columns.count, columns.trail);
}

void load_inside(Builder& builder, const View& tile, const View& source,
                 const std::array<ClippedAxis, 2>& axes, EngineKind queue) {
  const auto& [rows, columns] = axes;
  if (rows.count == 0 || columns.count == 0) return;
  load(builder, tile.slice(2, rows.lead, rows.count).slice(3, columns.lead, columns.count),
       source.slice(2, rows.start, rows.count).slice(3, columns.start, columns.count), queue);
}

}  // namespace neuron_sim
