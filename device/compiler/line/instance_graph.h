#pragma once
// How the instances of a straight line wait for each other in the program that it becomes.

#include <vector>

#include "device/compiler/line/straight_line.h"
#include "device/execute/plan.h"

namespace neuron_sim {

/// The direction of operand `index` of an instance in the program: during the passes a result that
/// may keep bytes counts as read, too.
Direction direction_in_program(const StraightLine& line, const StraightInstruction& instance,
                               size_t index);

/// The edges that a line needs in the program, of positions in the line: beside those of its
/// statements the ones of its meetings (meetings.h), all of them for a line that becomes a program
/// `alone`, else those that do not follow from the tensor that is met on.
std::vector<Edge> program_edges(const StraightLine& line, bool alone);

/// The dependencies that the program lower(line) has; the graph has no copies of the instances.
/// `addresses`: where each tile on chip lies; -1 if it stays at the address that the line gives it.
InstanceGraph instance_graph(const StraightLine& line, const std::vector<int64_t>& addresses);

}  // namespace neuron_sim
