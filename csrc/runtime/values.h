#pragma once
// Memory of the device without bytes: what was allocated while timing_only().

#include <c10/core/StorageImpl.h>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Whether the contents of a device storage mean anything. A storage without values has its place
/// and size in HBM, and no host memory.
NEURON_SIM_TORCH_API bool has_values(const c10::StorageImpl& storage);
/// c10::Error, one sentence, unless has_values().
NEURON_SIM_TORCH_API void check_values(const c10::StorageImpl& storage);

}  // namespace neuron_sim
