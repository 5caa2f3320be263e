#pragma once
// Instruction costs as the vendor's compiler sees them when it schedules. Not the hardware's: the
// timeline computes those from the architecture file.

#include <span>

#include "device/arch/architecture.h"
#include "device/base/units.h"
#include "device/instruction/demand.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// Costs that the list scheduler orders by; compiler_cost_facts() describes each and its source.
struct CompilerCosts {
  double clock_ghz, product_16bit_ghz, vector_ghz;
  double tensor_overhead_ns, scalar_overhead_ns, vector_overhead_ns;
  double dma_fixed_ns, dma_bytes_per_ns;
  double scalar_trigger_ns, trigger_ns, static_trigger_ns;
  double wake_up_ns, same_engine_ns;
};

/// One cost, in the form of the architecture files.
struct CompilerCostFact {
  const char* name;
  double CompilerCosts::*field;
  double value;
  const char* unit;
  const char* certainty;  ///< "documented", "fitted" or "assumed"
  const char* source;
};
/// All of them. Most were fitted to the order of the four public attention traces (one compiler
/// version, two kernels; "set J"): the structure is determined, individual values hardly.
std::span<const CompilerCostFact> compiler_cost_facts();
/// Their values.
const CompilerCosts& compiler_costs();

/// The cost of one instance on an engine.
struct CompilerCost {
  Picoseconds issue{};     ///< until the engine takes the next one
  Picoseconds transfer{};  ///< DMA: on the one pipe that all transfers share
  Picoseconds latency{};   ///< DMA: further, to the completion
};

/// Cost of an instance with that demand on `engine`; `stride_factor`: of elements on Vector, Scalar
/// or GpSimd that lie too far apart in SBUF (EngineTiming::stride_factor).
CompilerCost compiler_cost(const CompilerCosts& costs, const Demand& demand, EngineKind engine,
                           double stride_factor = 1);

}  // namespace neuron_sim
