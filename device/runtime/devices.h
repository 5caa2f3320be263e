#pragma once
// The simulated devices of this process.

#include "device/arch/architecture.h"
#include "device/memory/caching_allocator.h"
#include "device/memory/hbm.h"
#include "device/runtime/schedule.h"

namespace neuron_sim {

/// Number of devices: 2, or NEURON_SIM_DEVICES (1 to 16; KernelError otherwise), read at first use.
int device_count();

/// The HBM of all devices; as much per device as the architecture has. Lives until the process
/// ends.
Hbm& hbm();

/// Hands out the HBM of one device to tensors; KernelError (kIndex) when there is no such device.
CachingAllocator& device_allocator(int device);

/// The schedule of one device; KernelError (kIndex) when there is no such device.
Schedule& schedule(int device);

/// What the device is: default_architecture(), read once at first use. KernelError (kIndex) when
/// there is no such device.
const Architecture& device_architecture(int device);

}  // namespace neuron_sim
