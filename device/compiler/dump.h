#pragma once
// The program after a pass, for debugging.

#include <string>
#include <string_view>

#include "device/compiler/pass.h"

namespace neuron_sim {

/// NEURON_SIM_DUMP: "after:all", or "after:" and the name of a pass; empty: nothing is printed.
std::string dump_request();
/// KernelError that lists all requests unless this is one of them.
void check_dump_request(std::string_view request);

/// Prints the program to stderr when dump_request() selects this pass. A program that is compiled
/// several times (it does not fit, or in two ways) is printed each time.
void dump(const Pass& pass, const StraightLine& line);

}  // namespace neuron_sim
