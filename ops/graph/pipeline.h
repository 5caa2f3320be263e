#pragma once
// A pass over the kernels of a graph, and the one list of all of them (pipeline.cpp).

#include <cstdint>
#include <span>

#include "ops/graph/graph_program.h"

namespace neuron_sim {

/// Parts of the pipeline, in this order.
enum class GraphStage : uint8_t {
  kConstants,  ///< before what depends on constants alone is taken out
  kFusions,    ///< what becomes one kernel
  kOrder,      ///< in which order kernels run, and how their results lie
};

/// What the options of the graph must switch on.
struct GraphNeeds {
  bool fusion = false;
  bool forwarding = false;  ///< the compiler's pass forward_stores
};

/// Properties that a pass preserves; verify_graph() checks them.
struct GraphKeeps {
  bool kernels = false;  ///< none is added or removed, and they follow each other as before
};

/// One pass: a row of the pipeline.
struct GraphPass {
  const char* name;
  GraphStage stage;
  GraphNeeds needs;
  GraphKeeps keeps;
  void (*run)(Graph& graph);
};

/// All passes in the order in which they run.
std::span<const GraphPass> graph_pipeline();

/// Runs a pass, then verifies the graph (verify.h) and prints its listing() to stderr if
/// NEURON_SIM_DUMP asks for it.
void run_graph_pass(const GraphPass& pass, Graph& graph);
/// Runs the passes of a stage whose needs the options meet. KernelError when NEURON_SIM_DUMP names
/// no pass.
void run_graph_stage(GraphStage stage, Graph& graph, const GraphProgramOptions& options);

}  // namespace neuron_sim
