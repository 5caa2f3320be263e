#pragma once
// The activity of this process's devices while a listener is set: kernels and copies, with their
// spans on the schedule.

#include <cstdint>
#include <functional>
#include <memory>

#include "csrc/runtime/export.h"
#include "device/base/units.h"
#include "device/runtime/kernel.h"
#include "device/runtime/schedule.h"

namespace neuron_sim {

enum class ActivityKind { kKernel, kHostToDevice, kDeviceToHost, kOnDevice };

/// One task of a device.
struct DeviceActivity {
  ActivityKind kind = ActivityKind::kKernel;
  int device = 0;
  int64_t stream = 0;
  TimeSpan span{};                       ///< on the device's schedule
  Bytes bytes{};                         ///< of a copy
  std::shared_ptr<const Kernel> kernel;  ///< of a kernel
  Picoseconds body{};                    ///< of a kernel: the end of the span, without overhead
};

using ActivityListener = std::function<void(const DeviceActivity&)>;

/// Calls `listener` for every task, on the thread that submits it, one at a time, until it is
/// replaced; empty: no listener. It is no longer called once the call that replaces it returns.
NEURON_SIM_TORCH_API void set_activity_listener(ActivityListener listener);
/// Tells the listener, if any.
void report_activity(const DeviceActivity& activity);

}  // namespace neuron_sim
