#pragma once
// When the tasks of a device run in simulated time: streams order tasks, resources execute them.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "device/base/units.h"

namespace neuron_sim {

/// What a task occupies. Tasks on one resource never overlap; the three overlap each other.
enum class Resource { kCore, kHostToDevice, kDeviceToHost };
inline constexpr int kResourceCount = 3;

/// Start and end of a task, in simulated time since the process began.
struct TimeSpan {
  Picoseconds start{}, end{};
  auto operator<=>(const TimeSpan&) const = default;
};

/// Simulated time of the program that submits tasks. Its own instructions take no time; it advances
/// when the program waits for a device. One clock is shared by all devices of a process, so that
/// work submitted after a wait starts after it, on any device. Thread safe.
class HostClock {
 public:
  Picoseconds now() const { return {now_.load(std::memory_order_relaxed)}; }
  /// The program waits until `time`; earlier times change nothing.
  void wait_until(Picoseconds time);

 private:
  std::atomic<int64_t> now_{0};
};

/// The schedule of one device. A task starts when its stream is idle, its resource is free and the
/// host has submitted it. Tasks of one resource run in submission order, so the schedule is
/// deterministic for a program with one host thread. Thread safe.
class Schedule {
 public:
  using StreamId = int64_t;
  static constexpr StreamId kDefaultStream = 0;

  /// `host` must outlive the schedule.
  explicit Schedule(HostClock& host) : host_(host) {}

  /// A new stream, idle since time zero. The default stream exists from the start.
  StreamId create_stream();
  /// Runs a task of `duration` >= 0 on `stream` and `resource`; does not wait for it.
  TimeSpan submit(StreamId stream, Resource resource, Picoseconds duration);
  /// The time an event recorded on `stream` now fires: the end of all its tasks so far.
  Picoseconds record(StreamId stream) const;
  /// Later tasks of `stream` start at `time` or later (the time of an event of any device). The
  /// wait is itself a task: whoever waits for the stream waits for it.
  void block(StreamId stream, Picoseconds time);
  /// The host waits for all tasks of the device, or of one stream; returns the host's time then.
  Picoseconds synchronize();
  Picoseconds synchronize(StreamId stream);
  /// The device's clock: the end of all tasks so far, at least the host's time.
  Picoseconds now() const;
  HostClock& host() const { return host_; }

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  Picoseconds stream_end(StreamId stream) const;

  HostClock& host_;
  mutable std::mutex mutex_;
  std::unordered_map<StreamId, Picoseconds> streams_;
  Picoseconds resources_[kResourceCount] = {};
  Picoseconds last_{};  ///< the latest end of any task or wait
  StreamId next_stream_ = kDefaultStream + 1;
};

}  // namespace neuron_sim
