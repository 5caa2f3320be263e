#include "device/runtime/devices.h"

#include <pthread.h>

#include <atomic>
#include <deque>
#include <string>

#include "device/base/errors.h"
#include "device/base/settings.h"
#include "device/memory/hbm_fault.h"
#include "device/runtime/host_clock.h"

namespace neuron_sim {
namespace {

constexpr int kDefaultDevices = 2;
constexpr int kMostDevices = 16;

int read_device_count() {
  const std::string value = setting("NEURON_SIM_DEVICES");
  if (value.empty()) return kDefaultDevices;
  if (const auto count = whole_number(value, 1, kMostDevices)) return static_cast<int>(*count);
  fail(text("NEURON_SIM_DEVICES is '", value, "' and must be a number from 1 to ", kMostDevices));
}

/// Never destroyed: tensors may outlive every static object.
struct Devices {
  const Architecture& architecture = default_architecture();
  Hbm hbm{device_count(), architecture.limits.hbm, architecture.name};
  HostClock& host = host_clock();
  std::deque<Schedule> schedules;
  std::deque<CachingAllocator> allocators;
};

Devices& devices();

/// Whether this process is a fork of one that has used its devices: it has copies of their
/// memories, but neither their tensors' owner nor their time.
std::atomic<bool> forked{false};

void lock_devices() {
  for (CachingAllocator& allocator : devices().allocators) allocator.lock_for_fork();
  devices().hbm.lock_for_fork();
  for (Schedule& schedule : devices().schedules) schedule.lock_for_fork();
}

void unlock_devices() {
  for (Schedule& schedule : devices().schedules) schedule.unlock_after_fork();
  devices().hbm.unlock_after_fork();
  for (CachingAllocator& allocator : devices().allocators) allocator.unlock_after_fork();
}

void leave_devices() {
  forked.store(true, std::memory_order_relaxed);
  unlock_devices();
}

Devices* make_devices() {
  auto* made = new Devices;
  const CachingAllocator::Clock clock{[made] { return made->host.now(); },
                                      [made](Picoseconds time) { made->host.wait_until(time); }};
  for (int device = 0; device < device_count(); ++device) {
    Schedule& schedule = made->schedules.emplace_back(made->host);
    made->allocators.emplace_back(made->hbm, device, clock,
                                  [&schedule](int64_t stream) { return schedule.record(stream); });
  }
  explain_faults_in(made->hbm);
  return made;
}

Devices& devices() {
  static Devices* const instance = [] {
    Devices* made = make_devices();
    pthread_atfork(lock_devices, unlock_devices, leave_devices);
    return made;
  }();
  return *instance;
}

/// The devices, for calls that compute, copy or take simulated time. Calls that only free tensors
/// bypass it: a forked child makes them too.
Devices& used_devices() {
  Devices& used = devices();
  if (forked.load(std::memory_order_relaxed)) {
    fail(
        "Cannot use neuron_sim in a forked subprocess of a process that has used it. To use "
        "neuron_sim with multiprocessing, you must use the 'spawn' start method.",
        ErrorKind::kRuntime);
  }
  return used;
}

void check_device(int device) {
  if (device >= 0 && device < device_count()) return;
  fail(text("device index ", device, " is out of range: this process has ", device_count(),
            " neuron_sim devices, 0 to ", device_count() - 1, " (set by NEURON_SIM_DEVICES)"),
       ErrorKind::kIndex);
}

}  // namespace

int device_count() {
  static const int count = read_device_count();
  return count;
}

Hbm& hbm() { return devices().hbm; }

CachingAllocator& device_allocator(int device) {
  check_device(device);
  return devices().allocators[static_cast<size_t>(device)];
}

Schedule& schedule(int device) {
  check_device(device);
  return used_devices().schedules[static_cast<size_t>(device)];
}

const Architecture& device_architecture(int device) {
  check_device(device);
  return used_devices().architecture;
}

}  // namespace neuron_sim
