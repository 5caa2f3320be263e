#pragma once
// PyTorch's device type `xla` as another name of this device, for scripts written for torch_xla.

#include <functional>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Makes "xla" in factory functions and in `to` mean the current device, "xla:1" device 1. Their
/// results are tensors of this device and say so. `before_use` is called before each of them. Does
/// nothing the second time. Not for a process that has loaded the real torch_xla.
NEURON_SIM_TORCH_API void register_xla_device(std::function<void()> before_use);

}  // namespace neuron_sim
