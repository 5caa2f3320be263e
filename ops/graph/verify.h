#pragma once
// Checks that a pass preserved the meaning of a graph.

#include <string>
#include <vector>

#include "ops/graph/pipeline.h"

namespace neuron_sim {

/// Why the traits of a kernel do not describe it: the end of a sentence that begins with "it";
/// empty when they do.
std::string traits_objection(const GraphKernel& kernel);

/// Throws SimulatorBug that names the pass, the kernel and what is wrong, unless after the pass
/// every tensor lies within the bytes of its memory that kernels touched before, every memory that
/// no kernel read before its first write is still so, all bytes of external memories are written
/// that were, traits describe their kernels, and what the pass declares to keep is unchanged.
/// verifies_passes() (device/compiler/verify.h) says whether run_graph_pass() calls it.
void verify_graph(const GraphPass& pass, const std::vector<GraphKernel>& before,
                  const Graph& after);

}  // namespace neuron_sim
