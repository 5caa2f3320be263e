#pragma once
// The device as PyTorch sees it: current device, current streams, simulated time. For C++ programs
// and for everything in csrc.

#include <c10/core/Device.h>

#include <cstdint>

#include "csrc/runtime/export.h"
#include "device/base/units.h"
#include "device/runtime/schedule.h"

namespace neuron_sim {

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

/// Does nothing but keep the library linked: everything registers itself when it is loaded. A C++
/// program calls it once, because a linker may drop a library of which no symbol is used.
NEURON_SIM_TORCH_API void initialize();

/// Number of devices; throws c10::ValueError when NEURON_SIM_DEVICES is not valid.
NEURON_SIM_TORCH_API int visible_devices();
/// The calling thread's current device, 0 at first.
NEURON_SIM_TORCH_API int current_device() noexcept;
/// Sets the calling thread's current device; c10::Error when there is no such device.
NEURON_SIM_TORCH_API void set_device(int index);
/// Sets the calling thread's current device and returns the previous one. A negative index changes
/// nothing.
NEURON_SIM_TORCH_API int exchange_device(int index);
/// `index`, or the current device when it is negative; c10::Error when there is no such device.
NEURON_SIM_TORCH_API int checked_device(int index);

/// The calling thread's current stream on `device`; 0 is the default stream.
NEURON_SIM_TORCH_API int64_t current_stream(int device);
/// Makes `stream` current on `device` for the calling thread and returns the previous one.
NEURON_SIM_TORCH_API int64_t exchange_stream(int device, int64_t stream);

/// Places a task on the current stream of `device`. A kernel calls it once per launch with
/// Resource::kCore and the duration of its program.
NEURON_SIM_TORCH_API TimeSpan submit(int device, Resource resource, Picoseconds duration);
/// The device's simulated clock: the end of everything submitted so far.
NEURON_SIM_TORCH_API Picoseconds simulated_time(int device);
/// The program waits, in simulated time, for everything submitted to `device`.
NEURON_SIM_TORCH_API void synchronize(int device);

}  // namespace neuron_sim
