#pragma once
// Names of engines, operators and modes as Python writes them. value_named() is an error for
// others.

#include <optional>
#include <string>
#include <string_view>

#include "device/instruction/demand.h"
#include "device/instruction/reduce_command.h"
#include "device/isa/dma/sendrecv.h"
#include "device/isa/reduction/tensor_partition_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/numerics/operators.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// "tensor", "vector", "scalar", "gpsimd", "sync"; "auto" lets the instruction choose.
void value_named(std::string_view name, EngineKind& engine);
std::string name_of(EngineKind engine);
/// "add", "multiply", "max", ...; "" is none.
void value_named(std::string_view name, AluOp& op);
std::string name_of(AluOp op);
/// "exp", "gelu", "copy", ...
void value_named(std::string_view name, Activation& function);
std::string name_of(Activation function);
/// "idle", "reset", "reduce", "reset_reduce", "load_reduce" (nki.isa.reduce_cmd).
void value_named(std::string_view name, ReduceCommand& command);
std::string name_of(ReduceCommand command);
/// "none", "double_row" (nki.isa.matmul_perf_mode).
void value_named(std::string_view name, MatmulPerformanceMode& mode);
std::string name_of(MatmulPerformanceMode mode);
/// "static", "hardware", "software"; "auto" is empty: the engine decides.
void value_named(std::string_view name, std::optional<DescriptorKind>& descriptors);
std::string name_of(const std::optional<DescriptorKind>& descriptors);
/// "add", "average", "maximum" or "max", "bitwise_or", "bitwise_and".
void value_named(std::string_view name, PartitionReduction& op);
std::string name_of(PartitionReduction op);
/// "dma", "gpsimd_dma".
void value_named(std::string_view name, DmaEngine& engine);
std::string name_of(DmaEngine engine);
/// The value itself.
template <typename V>
V named(std::string_view name) {
  V value{};
  value_named(name, value);
  return value;
}
/// "error", "skip" (nki.isa.oob_mode): whether an index out of range is skipped.
bool skips_out_of_bounds(std::string_view oob_mode);

}  // namespace neuron_sim
