#pragma once
// What the vendor's compiler believes an instruction costs when it orders them. Not what the
// hardware takes: the timeline computes that from the architecture file.

#include <span>

#include "device/arch/architecture.h"
#include "device/base/units.h"
#include "device/instruction/demand.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// Costs that the list scheduler orders by; compiler_costs() has what each is and where it is from.
struct CompilerCosts {
  double clock_ghz, vector_ghz;
  double tensor_overhead_ns, scalar_overhead_ns, vector_overhead_ns;
  double dma_fixed_ns, dma_bytes_per_ns;
  double scalar_trigger_ns, trigger_ns, static_trigger_ns;
  double wake_up_ns, same_engine_ns;
};

/// One of them, as the architecture files state theirs.
struct CompilerCostFact {
  const char* name;
  double CompilerCosts::*field;
  double value;
  const char* unit;
  const char* certainty;  ///< "fitted" or "assumed"
  const char* source;
};
/// All of them. Fitted to the order of the four public attention traces (one compiler version, two
/// kernels; "set J"): the structure is determined, single values hardly.
std::span<const CompilerCostFact> compiler_cost_facts();
/// Their values.
const CompilerCosts& compiler_costs();

/// What one instance costs on an engine.
struct CompilerCost {
  Picoseconds issue{};     ///< the engine takes the next one after
  Picoseconds transfer{};  ///< DMA: of the one pipe that all transfers share
  Picoseconds latency{};   ///< DMA: further, to the completion
};

/// Cost of an instance with that demand on `engine`.
CompilerCost compiler_cost(const CompilerCosts& costs, const Demand& demand, EngineKind engine);

}  // namespace neuron_sim
