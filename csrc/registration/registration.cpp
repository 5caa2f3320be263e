// The name of the backend, set when the library is loaded: `torch::Device("neuron_sim:1")` works in
// a C++ program and in a TorchScript file without any Python.

#include <c10/core/DeviceType.h>

namespace neuron_sim {
namespace {

struct NameRegistration {
  NameRegistration() { c10::register_privateuse1_backend("neuron_sim"); }
};
const NameRegistration name_registration;

}  // namespace
}  // namespace neuron_sim
