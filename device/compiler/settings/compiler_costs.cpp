#include "device/compiler/settings/compiler_costs.h"

namespace neuron_sim {
namespace {

constexpr const char* kSetJ = "order of the four public attention traces, set J";
constexpr CompilerCostFact kFacts[] = {
    {"clock", &CompilerCosts::clock_ghz, 1.4, "GHz", "documented",
     "nki/guides/architecture/trainium_inferentia2_arch.rst: ScalarE, one element per cycle; "
     "TensorE: one column of 4-byte elements. The order of the four public attention traces, of "
     "generation 3, is that of these clocks"},
    {"product_16bit_clock", &CompilerCosts::product_16bit_ghz, 2.8, "GHz", "assumed",
     "TensorE: one column of narrower elements per cycle of the array's documented clock on "
     "generation 2; 1.4 GHz gives the same orders of the four traces"},
    {"vector_clock", &CompilerCosts::vector_ghz, 1.12, "GHz", "documented",
     "nki/guides/architecture/trainium_inferentia2_arch.rst: VectorE; GpSimd the same (assumed)"},
    {"tensor_overhead", &CompilerCosts::tensor_overhead_ns, 46, "ns", "fitted",
     "set J; 64 cycles, 16-bit and fp32 alike"},
    {"scalar_overhead", &CompilerCosts::scalar_overhead_ns, 160, "ns", "fitted",
     "set J; 224 cycles"},
    {"vector_overhead", &CompilerCosts::vector_overhead_ns, 60, "ns", "fitted", kSetJ},
    {"dma_fixed", &CompilerCosts::dma_fixed_ns, 1500, "ns", "fitted",
     "set J; 500 to 3500 give the same orders"},
    {"dma_bytes", &CompilerCosts::dma_bytes_per_ns, 250, "bytes/ns", "fitted", kSetJ},
    {"scalar_trigger", &CompilerCosts::scalar_trigger_ns, 60, "ns", "fitted",
     "set J; 0 to 200 give the same orders"},
    {"trigger", &CompilerCosts::trigger_ns, 600, "ns", "fitted",
     "set J; Sync and GpSimd; Vector and Tensor the same (assumed)"},
    {"static_trigger", &CompilerCosts::static_trigger_ns, 60, "ns", "assumed",
     "descriptors prepared by the compiler, which no trace shows"},
    {"wake_up", &CompilerCosts::wake_up_ns, 40, "ns", "fitted",
     "set J; from one engine or queue to another"},
    {"same_engine", &CompilerCosts::same_engine_ns, 120, "ns", "assumed",
     "from the end of an instruction on Vector, Scalar or GpSimd to one there that reads its "
     "result: what the hardware needs (docs/hardware_facts.md#engine-timing), if the "
     "compiler knows it; a published depthwise convolution on generation 2 is met at the interval "
     "of its instructions, which needs independent ones in between"},
};
static_assert(sizeof(CompilerCosts) == std::size(kFacts) * sizeof(double), "a fact per cost");

CompilerCost dma_cost(const CompilerCosts& costs, const Step& step, EngineKind engine) {
  double trigger = engine == EngineKind::kScalar ? costs.scalar_trigger_ns : costs.trigger_ns;
  if (step.descriptors == DescriptorKind::kStatic) trigger = costs.static_trigger_ns;
  const auto bytes = static_cast<double>(step.elements * step.bytes);
  return {from_nanoseconds(trigger), from_nanoseconds(bytes / costs.dma_bytes_per_ns),
          from_nanoseconds(costs.dma_fixed_ns)};
}

}  // namespace

std::span<const CompilerCostFact> compiler_cost_facts() { return kFacts; }

const CompilerCosts& compiler_costs() {
  static const CompilerCosts costs = [] {
    CompilerCosts values{};
    for (const CompilerCostFact& fact : kFacts) values.*fact.field = fact.value;
    return values;
  }();
  return costs;
}

CompilerCost compiler_cost(const CompilerCosts& costs, const Demand& demand, EngineKind engine,
                           double stride_factor) {
  if (demand.count == 0) return {from_nanoseconds(costs.wake_up_ns), {}, {}};
  const Step& step = demand.steps[static_cast<size_t>(demand.count - 1)];
  const bool moves = step.unit == Unit::kDma || step.unit == Unit::kCollective;  // assumed alike
  if (moves) return dma_cost(costs, step, engine);
  double overhead = costs.vector_overhead_ns, rate = costs.vector_ghz;
  if (engine == EngineKind::kTensor || engine == EngineKind::kScalar) {
    const bool tensor = engine == EngineKind::kTensor;
    overhead = tensor ? costs.tensor_overhead_ns : costs.scalar_overhead_ns;
    const bool narrow = tensor && step.matmul == MatmulClass::k16bit;
    rate = narrow ? costs.product_16bit_ghz : costs.clock_ghz;
  }
  auto elements = static_cast<double>(step.elements);
  if (step.strided && step.unit == Unit::kElementwise) elements *= stride_factor;
  return {from_nanoseconds(overhead + elements / rate), {}, {}};
}

}  // namespace neuron_sim
