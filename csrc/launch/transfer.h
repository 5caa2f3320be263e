#pragma once
// The simulated time of copies: each takes host_latency + bytes / host_bytes_per_nanosecond of the
// architecture on the copy resource of its direction.

#include "device/base/units.h"

namespace neuron_sim {

/// Accounts a copy from the host to `device` on its current stream. The program waits for its end
/// unless `non_blocking`.
void account_to_device(int device, Bytes bytes, bool non_blocking = false);
/// Accounts a copy from `device` to the host, likewise.
void account_to_host(int device, Bytes bytes, bool non_blocking = false);
/// Accounts a copy between two devices: it goes through the host, one half after the other.
void account_between(int from, int to, Bytes bytes);
/// Accounts a copy within the HBM of one device: one DMA of that size spread over all its engines,
/// read and written at once, on the core.
void account_on_device(int device, Bytes bytes);

}  // namespace neuron_sim
