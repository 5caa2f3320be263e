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

}  // namespace neuron_sim
