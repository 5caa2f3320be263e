#pragma once
// Which of several ready instances goes first: program order, except for accumulation groups and
// loads.

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/pass_settings.h"
#include "device/execute/plan.h"

namespace neuron_sim {

struct Ranks {
  std::vector<int64_t> rank;         ///< per instance, unique; the lower one goes first
  std::vector<int32_t> group;        ///< accumulation group, -1 none; numbered by first instance
  std::vector<int32_t> group_sizes;  ///< instances of each group
};

/// With `keep_groups_together` the instances of a statement that accumulate in PSUM are ranked
/// group by group (a group is one tile), with `hoist_loads` loads from HBM that wait for nothing
/// come first, in the order of their first successors. Else a rank is the position in the program.
Ranks rank_instances(const StraightLine& line, const InstanceGraph& graph,
                     const PassSettings& settings);

}  // namespace neuron_sim
