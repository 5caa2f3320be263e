#pragma once
// The times of one step.

#include "device/base/units.h"

namespace neuron_sim {

/// When one step occupies its unit and when its result is visible.
struct Span {
  Picoseconds start{};  ///< issue
  Picoseconds end{};    ///< the unit is free for the next instruction
  Picoseconds done{};   ///< the result is visible to others
};

}  // namespace neuron_sim
