#pragma once
// The program of a straight line for an analysis, without a copy of its operands.

#include <functional>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// read(lower(line)), with its tiles as they are numbered in the line, also those that nothing
/// uses, and without the contents of constants, peaks and what only its execution needs. The line
/// lends its pools meanwhile, because a long one has no room for two, and has them again
/// afterwards; when something is thrown, it is of no more use.
void read_lowered(StraightLine& line, const std::function<void(const Program&)>& read);

}  // namespace neuron_sim
