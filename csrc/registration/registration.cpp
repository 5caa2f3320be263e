// The name of the backend, set when the library is loaded: `torch::Device("neuron_sim:1")` works in
// a C++ program and in a TorchScript file without any Python.

#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>

#include "csrc/runtime/device_name.h"

namespace neuron_sim {
namespace {

struct NameRegistration {
  NameRegistration() {
    try {
      c10::register_privateuse1_backend(device_name());
    } catch (const c10::ValueError&) {
      // An exception here would end the process; the first use of the device throws it again.
      c10::register_privateuse1_backend("neuron_sim");
    }
  }
};
const NameRegistration name_registration;

}  // namespace
}  // namespace neuron_sim
