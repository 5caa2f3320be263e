#pragma once
// schedule: the order in which the engines get their instructions, and the banks of PSUM.
//
// Known (statement names and order in the four public attention traces, neuronx-cc 2.23): a list
// scheduler over the unrolled program in which program order or the earliest ready decides, not the
// critical path; copies out of PSUM go to the engine that is free first; accumulation groups of one
// statement do not interleave; loads that wait for nothing come first, in the order of their first
// readers; a bank of PSUM is taken longest-unused first. Copies within SBUF go to the engine that
// is free first, too (vendor, nki.isa.tensor_copy 2.28: the compiler selects it by the engines'
// load; that it weighs Scalar and Vector alone is assumed). On generation 2 copies out of PSUM all
// go to Scalar (compiled programs of a convolution, sahiljain01/asst4-trainium at 8782438e,
// part2/file_pool_1_*.neff: 3,108 of 3,108 in both, where Vector takes 1,134 and 1,555 copies
// within SBUF from a busier Scalar). The costs are the compiler's own (compiler_costs.h).

#include <optional>

#include "device/compiler/line/straight_line.h"
#include "device/compiler/settings/compiler_costs.h"
#include "device/compiler/settings/pass_settings.h"

namespace neuron_sim {

/// Orders the instances by their start in the compiler's simulated time, all engines together, so
/// that each engine's order is a subsequence of it. With `rename_buffers` PSUM tiles that are not
/// `placed` get their banks along the way. When the greedy order runs out of banks, each is given
/// away only if the rest of the program could still be finished in program order (bank_forecast.h:
/// assumed, nothing is known of the compiler here); when the banks do not suffice for that either,
/// the program order and all tiles are unchanged. Returns how long the new order
/// takes in the compiler's simulated time; empty when there is none.
std::optional<Picoseconds> schedule(StraightLine& line, const PassSettings& settings,
                                    const CompilerCosts& costs = compiler_costs());

}  // namespace neuron_sim
