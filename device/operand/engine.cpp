#include "device/operand/engine.h"

namespace neuron_sim {

const char* name(EngineKind engine) {
  switch (engine) {
    case EngineKind::kTensor: return "Tensor";
    case EngineKind::kVector: return "Vector";
    case EngineKind::kScalar: return "Scalar";
    case EngineKind::kGpSimd: return "GpSimd";
    case EngineKind::kSync: return "Sync";
    case EngineKind::kAuto: break;
  }
  return "auto";
}

}  // namespace neuron_sim
