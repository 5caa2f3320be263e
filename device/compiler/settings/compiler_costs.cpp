#include "device/compiler/settings/compiler_costs.h"

namespace neuron_sim {
namespace {

CompilerCost dma_cost(const CompilerCosts& costs, const Step& step, EngineKind engine) {
  double trigger = engine == EngineKind::kScalar ? costs.scalar_trigger_ns : costs.trigger_ns;
  if (step.descriptors == DescriptorKind::kStatic) trigger = costs.static_trigger_ns;
  const auto bytes = static_cast<double>(step.elements * step.bytes);
  return {from_nanoseconds(trigger), from_nanoseconds(bytes / costs.dma_bytes_per_ns),
          from_nanoseconds(costs.dma_fixed_ns)};
}

}  // namespace

CompilerCost compiler_cost(const CompilerCosts& costs, const Demand& demand, EngineKind engine) {
  if (demand.count == 0) return {from_nanoseconds(costs.wake_up_ns), {}, {}};
  const Step& step = demand.steps[static_cast<size_t>(demand.count - 1)];
  if (step.unit == Unit::kDma) return dma_cost(costs, step, engine);
  double overhead = costs.vector_overhead_ns, rate = costs.vector_ghz;
  if (engine == EngineKind::kTensor || engine == EngineKind::kScalar) {
    const bool tensor = engine == EngineKind::kTensor;
    overhead = tensor ? costs.tensor_overhead_ns : costs.scalar_overhead_ns;
    rate = costs.clock_ghz;
  }
  const auto elements = static_cast<double>(step.elements);
  return {from_nanoseconds(overhead + elements / rate), {}, {}};
}

}  // namespace neuron_sim
