#include "csrc/aten/dispatch/host_step.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>

#include "csrc/launch/capture.h"

namespace neuron_sim {

torch::jit::Stack capture_host_step(const char* name, torch::jit::Stack arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  GraphCapture::active()->run_on_host(op, &arguments, /*is_random=*/false);
  return arguments;
}

}  // namespace neuron_sim
