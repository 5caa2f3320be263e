#include "csrc/runtime/device_name.h"

#include <c10/util/Exception.h>

#include <cstdlib>

namespace neuron_sim {

const std::string& device_name() {
  static const std::string name = [] {
    const char* wanted = std::getenv("NEURON_SIM_DEVICE");
    std::string given = wanted == nullptr || *wanted == '\0' ? "neuron_sim" : wanted;
    TORCH_CHECK_VALUE(given == "neuron_sim" || given == "neuron", "NEURON_SIM_DEVICE is '", given,
                      "'; it must be neuron_sim or neuron.");
    return given;
  }();
  return name;
}

}  // namespace neuron_sim
