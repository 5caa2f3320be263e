#pragma once
// What the vendor's compiler believes an instruction costs when it orders them. Not what the
// hardware takes: the timeline computes that from the architecture file.

#include "device/arch/architecture.h"
#include "device/base/units.h"
#include "device/instruction/demand.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// Cost table of the list scheduler. Fitted to the order of the four public attention traces (one
/// compiler version, two kernels; "set J"): the structure is determined, single values hardly.
struct CompilerCosts {
  double clock_ghz = 1.4;           ///< TensorE and ScalarE: one column or element per cycle
  double vector_ghz = 1.12;         ///< VectorE; GpSimd the same (assumed)
  double tensor_overhead_ns = 46;   ///< 64 cycles; 16-bit and fp32 alike
  double scalar_overhead_ns = 160;  ///< 224 cycles
  double vector_overhead_ns = 60;
  double dma_fixed_ns = 1500;  ///< 500 to 3500 give the same orders
  double dma_bytes_per_ns = 250;
  double scalar_trigger_ns = 60;  ///< 0 to 200 give the same orders
  double trigger_ns = 600;        ///< Sync and GpSimd; Vector and Tensor the same (assumed)
  double static_trigger_ns = 60;  ///< descriptors prepared by the compiler: assumed
  double wake_up_ns = 40;         ///< from one engine or queue to another
  /// From the end of an instruction on Vector, Scalar or GpSimd to one there that reads its result:
  /// what the hardware needs (docs/hardware_facts.md#engine-timing). Assumed: that the
  /// compiler knows it; a published depthwise convolution on generation 2 is met at the interval of
  /// its instructions, which needs independent ones in between.
  double same_engine_ns = 120;
};

/// What one instance costs on an engine.
struct CompilerCost {
  Picoseconds issue{};     ///< the engine takes the next one after
  Picoseconds transfer{};  ///< DMA: of the one pipe that all transfers share
  Picoseconds latency{};   ///< DMA: further, to the completion
};

/// Cost of an instance with that demand on `engine`.
CompilerCost compiler_cost(const CompilerCosts& costs, const Demand& demand, EngineKind engine);

}  // namespace neuron_sim
