#include "csrc/launch/transfer.h"

#include "csrc/launch/device_activity.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

Picoseconds host_copy_duration(int device, Bytes bytes) {
  const DmaTiming& dma = device_architecture(device).dma;
  return dma.host_latency +
         from_nanoseconds(static_cast<double>(bytes.count) / dma.host_bytes_per_nanosecond);
}

/// A copy over the host link, on the device's current stream.
TimeSpan submit_copy(int device, Resource resource, Bytes bytes) {
  const int64_t stream = current_stream(device);
  const TimeSpan span =
      schedule(device).submit(stream, resource, host_copy_duration(device, bytes));
  const ActivityKind kind = resource == Resource::kHostToDevice ? ActivityKind::kHostToDevice
                                                                : ActivityKind::kDeviceToHost;
  report_activity({kind, device, stream, span, bytes, nullptr, {}});
  return span;
}

void account_host_copy(int device, Resource resource, Bytes bytes, bool non_blocking) {
  translate_errors([&] {
    Schedule& target = schedule(device);
    const TimeSpan span = submit_copy(device, resource, bytes);
    if (!non_blocking) target.host().wait_until(span.end);
  });
}

}  // namespace

void account_to_device(int device, Bytes bytes, bool non_blocking) {
  account_host_copy(device, Resource::kHostToDevice, bytes, non_blocking);
}

void account_to_host(int device, Bytes bytes, bool non_blocking) {
  account_host_copy(device, Resource::kDeviceToHost, bytes, non_blocking);
}

void account_between(int from, int to, Bytes bytes) {
  translate_errors([&] {
    const TimeSpan out = submit_copy(from, Resource::kDeviceToHost, bytes);
    schedule(to).block(current_stream(to), out.end);
    const TimeSpan in = submit_copy(to, Resource::kHostToDevice, bytes);
    // The source may not be overwritten before it has been read.
    schedule(from).block(current_stream(from), in.end);
  });
}

void account_on_device(int device, Bytes bytes) {
  translate_errors([&] {
    const DmaTiming& dma = device_architecture(device).dma;
    const double rate = static_cast<double>(dma.engines) * dma.bytes_per_nanosecond;
    const Picoseconds duration = dma.static_trigger + dma.static_first_load +
                                 from_nanoseconds(static_cast<double>(bytes.count) / rate) +
                                 dma.complete_store;
    const int64_t stream = current_stream(device);
    const TimeSpan span = schedule(device).submit(stream, Resource::kCore, duration);
    report_activity({ActivityKind::kOnDevice, device, stream, span, bytes, nullptr, {}});
  });
}

}  // namespace neuron_sim
