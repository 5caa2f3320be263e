#include "csrc/runtime/device_name.h"

#include <c10/util/Exception.h>

#include "device/base/settings.h"

namespace neuron_sim {

const std::string& device_name() {
  static const std::string name = [] {
    std::string given = setting("NEURON_SIM_DEVICE");
    if (given.empty()) given = "neuron_sim";
    TORCH_CHECK_VALUE(given == "neuron_sim" || given == "neuron", "NEURON_SIM_DEVICE is '", given,
                      "'; it must be neuron_sim or neuron.");
    return given;
  }();
  return name;
}

}  // namespace neuron_sim
