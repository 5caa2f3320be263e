#include "python_bindings/core_module/instructions/names.h"

#include "device/base/errors.h"

namespace neuron_sim {

EngineKind engine_named(const std::string& name) {
  if (name == "tensor") return EngineKind::kTensor;
  if (name == "vector") return EngineKind::kVector;
  if (name == "scalar") return EngineKind::kScalar;
  if (name == "gpsimd") return EngineKind::kGpSimd;
  if (name == "sync") return EngineKind::kSync;
  if (name == "auto") return EngineKind::kAuto;
  fail(
      text("engine '", name, "' is unknown; allowed: tensor, vector, scalar, gpsimd, sync, auto."));
}

AluOp operator_named(const std::string& name) {
  if (name.empty()) return AluOp::kNone;
  if (const auto op = parse_alu_op(name)) return *op;
  fail(
      text("operator '", name, "' is unknown (nki.isa names them 'add', 'multiply', 'max', ...)."));
}

Activation activation_named(const std::string& name) {
  if (const auto function = parse_activation(name)) return *function;
  fail(text("activation function '", name, "' is unknown."));
}

ReduceCommand reduce_command_named(const std::string& name) {
  if (name == "idle") return ReduceCommand::kIdle;
  if (name == "reset") return ReduceCommand::kReset;
  if (name == "reduce") return ReduceCommand::kReduce;
  if (name == "reset_reduce") return ReduceCommand::kResetReduce;
  if (name == "load_reduce") return ReduceCommand::kLoadReduce;
  fail(text("reduce_cmd '", name,
            "' is unknown; allowed: idle, reset, reduce, reset_reduce, load_reduce."));
}

bool skips_out_of_bounds(const std::string& oob_mode) {
  if (oob_mode == "error") return false;
  if (oob_mode == "skip") return true;
  fail(text("oob_mode '", oob_mode, "' is unknown; allowed: error, skip."));
}

MatmulPerformanceMode performance_mode_named(const std::string& name) {
  if (name == "none") return MatmulPerformanceMode::kNone;
  if (name == "double_row") return MatmulPerformanceMode::kDoubleRow;
  fail(text("perf_mode '", name, "' is unknown; allowed: none, double_row."));
}

std::optional<DescriptorKind> descriptors_named(const std::string& name) {
  if (name == "auto") return std::nullopt;
  if (name == "static") return DescriptorKind::kStatic;
  if (name == "hardware") return DescriptorKind::kHardware;
  if (name == "software") return DescriptorKind::kSoftware;
  fail(text("descriptors '", name, "' are unknown; allowed: static, hardware, software, auto."));
}

}  // namespace neuron_sim
