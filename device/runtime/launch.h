#pragma once
// Runs compiled kernels on a device: bytes by the executor, time by the timeline and the schedule.

#include <functional>
#include <memory>
#include <span>

#include "device/runtime/kernel.h"
#include "device/runtime/schedule.h"

namespace neuron_sim {

/// One finished launch.
struct LaunchRecord {
  std::shared_ptr<const Kernel> kernel;
  int device = 0;
  Schedule::StreamId stream = Schedule::kDefaultStream;
  TimeSpan span{};  ///< on the device's schedule
  Timing timing{};
};

/// Another kernel with the bytes of a launch, and its arguments: as a launch takes them.
struct Computation {
  std::shared_ptr<const Kernel> kernel;
  std::span<std::byte* const> arguments;
};

/// Runs `kernel` on `device`, which is a logical core: one physical core, or two (LNC2) for a
/// program of two cores. `arguments` are host addresses (for HBM tensors: their backing), one
/// per program argument; written arguments must not overlap others. The task is scheduled on
/// `stream` for the kernel's benchmark time (body and launch overhead). Launches on one device
/// take turns. `numbers`: the values of LaunchNumbers; empty: those compiled into the program.
/// `instead`: what is computed in place of the kernel, except by checked launches; null: nothing.
LaunchRecord launch(int device, Schedule::StreamId stream,
                    const std::shared_ptr<const Kernel>& kernel,
                    std::span<std::byte* const> arguments, std::span<const double> numbers = {},
                    const Computation* instead = nullptr);

/// The bytes of a launch without its time: nothing is scheduled, and no listener is called.
void compute(int device, const std::shared_ptr<const Kernel>& kernel,
             std::span<std::byte* const> arguments);

/// Calls `listener` after every launch of this process until it is replaced; empty: none.
void set_launch_listener(std::function<void(const LaunchRecord&)> listener);

}  // namespace neuron_sim
