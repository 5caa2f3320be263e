#include "csrc/runtime/runtime.h"

#include <c10/util/Exception.h>

#include <array>

#include "csrc/runtime/device_name.h"
#include "csrc/runtime/errors.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

constexpr size_t kMostDevices = 16;
thread_local int current_index = 0;
thread_local std::array<int64_t, kMostDevices> current_streams{};

}  // namespace

void initialize() {}

int visible_devices() {
  device_name();  // fails for a name that does not exist
  return translate_errors([] { return device_count(); });
}

int current_device() noexcept { return current_index; }

int checked_device(int index) {
  if (index < 0) return current_index;
  const int count = visible_devices();
  TORCH_CHECK(index < count, "neuron_sim: device index ", index,
              " is out of range; the devices are 0 to ", count - 1,
              " (NEURON_SIM_DEVICES sets their number)");
  return index;
}

void set_device(int index) {
  TORCH_CHECK(index >= 0, "neuron_sim: device index ", index, " is negative");
  current_index = checked_device(index);
}

int exchange_device(int index) {
  const int previous = current_index;
  if (index >= 0 && index != previous) set_device(index);
  return previous;
}

int64_t current_stream(int device) {
  return current_streams[static_cast<size_t>(checked_device(device))];
}

int64_t exchange_stream(int device, int64_t stream) {
  int64_t& current = current_streams[static_cast<size_t>(checked_device(device))];
  const int64_t previous = current;
  current = stream;
  return previous;
}

TimeSpan submit(int device, Resource resource, Picoseconds duration) {
  return translate_errors(
      [&] { return schedule(device).submit(current_stream(device), resource, duration); });
}

Picoseconds simulated_time(int device) {
  return translate_errors([&] { return schedule(checked_device(device)).now(); });
}

void synchronize(int device) {
  translate_errors([&] { schedule(checked_device(device)).synchronize(); });
}

}  // namespace neuron_sim
