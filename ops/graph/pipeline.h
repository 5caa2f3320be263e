#pragma once
// A pass over the kernels of a graph, and the one list of all of them (pipeline.cpp).

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ops/graph/graph_program.h"

namespace neuron_sim {

/// Parts of the pipeline, in this order.
enum class GraphStage : uint8_t {
  kConstants,  ///< before what depends on constants alone is taken out
  kFusions,    ///< what becomes one kernel
  /// In which order kernels run, and where and how their results lie: each of these passes is a
  /// choice, left out where the program is shorter without it (graph_program.h).
  kOrder,
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
/// Runs the passes of a stage whose needs the options meet, but those left out; returns the names
/// of those that changed operands or results. KernelError when NEURON_SIM_DUMP names no pass.
std::vector<std::string> run_graph_stage(GraphStage stage, Graph& graph,
                                         const GraphProgramOptions& options,
                                         const std::set<std::string>& left_out = {});
/// KernelError unless all are passes of GraphStage::kOrder.
void check_orders(const std::set<std::string>& passes);

}  // namespace neuron_sim
