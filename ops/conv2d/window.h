#pragma once
// Windows of images that cross the border: loads with zeros around them.

#include <array>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Positions of one axis of a window: `lead` zeros, `count` elements from `start` on, `trail`
/// zeros.
struct ClippedAxis {
  Affine start;
  int64_t lead = 0, count = 0, trail = 0;
  bool clipped() const { return lead + trail > 0; }
};

/// Which of the positions origin, origin + 1, ... (`size` of them) lie in [0, extent). An origin
/// that depends on a loop must lie inside altogether.
ClippedAxis clip_axis(const Affine& origin, int64_t size, int64_t extent);

/// Zeroes the part of `tile` [C, images, rows, columns] (SBUF) that no load fills.
void clear_borders(Builder& builder, const View& tile, const std::array<ClippedAxis, 2>& axes);
/// Loads the rest from `source` [C, images, H, W] (HBM).
void load_inside(Builder& builder, const View& tile, const View& source,
                 const std::array<ClippedAxis, 2>& axes, EngineKind queue);

}  // namespace neuron_sim
