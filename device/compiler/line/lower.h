#pragma once
// The program of a straight line for an analysis, without a copy of its operands.

#include <functional>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// read(lower(line)), without the contents of constants. The line lends its instructions, operands
/// and tiles meanwhile, because a long one has no room for two, and has them again afterwards; when
/// something is thrown, it is of no more use.
void read_lowered(StraightLine& line, const std::function<void(const Program&)>& read);

}  // namespace neuron_sim
