#pragma once
// How long a collective takes once all its ranks are there.

#include "device/arch/architecture.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Time from the start of a collective to its results: steps of its algorithm times the latency of
/// a step, and the bytes over the slowest of the ways that they take (the sum of latency and
/// transfer time is the vendor's description, neuron-runtime/explore/intranode-collective-comm).
///
/// Rank r is logical core r of a row of chips, cores / cores of the program to a chip, and chips
/// fill instances; all groups run at once and share what joins their chips. The algorithm follows
/// from the size of the larger buffer of a rank: mesh below CollectiveTiming::mesh, recursive
/// doubling and halving up to CollectiveTiming::recursive, a ring through every second rank beyond;
/// permutes take one step, all_to_all is a mesh. Within a chip bytes move at the rate of the DMA
/// engines, reduced ones at DmaTiming::compute of it. That algorithms overlap no steps, and that
/// these sizes hold for any group, is assumed.
Picoseconds collective_time(const Program& program, const Instruction& instruction,
                            const Architecture& architecture);

}  // namespace neuron_sim
