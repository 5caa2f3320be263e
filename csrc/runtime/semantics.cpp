#include "csrc/runtime/semantics.h"

#include <string>

#include "device/base/settings.h"

namespace neuron_sim {

bool vendor_semantics() {
  static const bool vendor = [] {
    const std::string semantics = setting("NEURON_SIM_SEMANTICS");
    return semantics.empty() ? setting("NEURON_SIM_DEVICE") == "neuron" : semantics == "vendor";
  }();
  return vendor;
}

bool falls_back_only_without_kernel() {
  static const bool only =
      vendor_semantics() && setting("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS") == "1";
  return only;
}

}  // namespace neuron_sim
