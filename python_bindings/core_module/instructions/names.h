#pragma once
// Names of engines, operators and descriptors as Python writes them.

#include <optional>
#include <string>

#include "device/instruction/demand.h"
#include "device/instruction/reduce_command.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/numerics/operators.h"
#include "device/operand/engine.h"

namespace neuron_sim {

/// "tensor", "vector", "scalar", "gpsimd", "sync"; "auto" lets the instruction choose.
EngineKind engine_named(const std::string& name);
/// "add", "multiply", "max", ...; "" is none.
AluOp operator_named(const std::string& name);
/// "exp", "gelu", "copy", ...
Activation activation_named(const std::string& name);
/// "idle", "reset", "reduce", "reset_reduce", "load_reduce" (nki.isa.reduce_cmd).
ReduceCommand reduce_command_named(const std::string& name);
/// "error", "skip" (nki.isa.oob_mode): whether an index out of range is skipped.
bool skips_out_of_bounds(const std::string& oob_mode);
/// "none", "double_row" (nki.isa.matmul_perf_mode).
MatmulPerformanceMode performance_mode_named(const std::string& name);
/// "static", "hardware", "software"; "auto" is empty: the engine decides.
std::optional<DescriptorKind> descriptors_named(const std::string& name);

}  // namespace neuron_sim
