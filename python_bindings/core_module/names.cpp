#include "python_bindings/core_module/names.h"

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

std::optional<DescriptorKind> descriptors_named(const std::string& name) {
  if (name == "auto") return std::nullopt;
  if (name == "static") return DescriptorKind::kStatic;
  if (name == "hardware") return DescriptorKind::kHardware;
  if (name == "software") return DescriptorKind::kSoftware;
  fail(text("descriptors '", name, "' are unknown; allowed: static, hardware, software, auto."));
}

}  // namespace neuron_sim
