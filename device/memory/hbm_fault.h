#pragma once
// One explaining sentence when host code dereferences a device pointer.

#include "device/memory/hbm.h"

namespace neuron_sim {

/// From now on a segmentation fault at a device pointer of `hbm` writes one sentence to stderr
/// before it takes its usual course: the handler that was installed before (Python's faulthandler,
/// say) still runs, or the process ends by the signal. `hbm` must live as long as the process.
void explain_faults_in(const Hbm& hbm);

}  // namespace neuron_sim
