#include "device/runtime/schedule.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/runtime/host_clock.h"

namespace neuron_sim {

void HostClock::wait_until(Picoseconds time) {
  int64_t seen = now_.load(std::memory_order_relaxed);
  while (seen < time.count && !now_.compare_exchange_weak(seen, time.count)) {
  }
}

Schedule::StreamId Schedule::create_stream() {
  const std::lock_guard lock(mutex_);
  return next_stream_++;
}

TimeSpan Schedule::submit(StreamId stream, Resource resource, Picoseconds duration) {
  require(duration.count >= 0, "a task has no negative duration");
  if (submission_cost().count > 0) host_.wait_until(host_.now() + submission_cost());
  const std::lock_guard lock(mutex_);
  Picoseconds& free_at = resources_[static_cast<int>(resource)];
  const Picoseconds start = std::max({stream_end(stream), free_at, host_.now()});
  const Picoseconds end = start + duration;
  streams_[stream] = end;
  free_at = end;
  last_ = std::max(last_, end);
  return {start, end};
}

Picoseconds Schedule::record(StreamId stream) const {
  const std::lock_guard lock(mutex_);
  return std::max(stream_end(stream), host_.now());
}

void Schedule::block(StreamId stream, Picoseconds time) {
  const std::lock_guard lock(mutex_);
  Picoseconds& end = streams_[stream];
  end = std::max(end, time);
  last_ = std::max(last_, end);
}

Picoseconds Schedule::synchronize() {
  const std::lock_guard lock(mutex_);
  host_.wait_until(last_);
  return host_.now();
}

Picoseconds Schedule::synchronize(StreamId stream) {
  const std::lock_guard lock(mutex_);
  host_.wait_until(stream_end(stream));
  return host_.now();
}

Picoseconds Schedule::now() const {
  const std::lock_guard lock(mutex_);
  return std::max(last_, host_.now());
}

Picoseconds Schedule::stream_end(StreamId stream) const {
  const auto position = streams_.find(stream);
  return position == streams_.end() ? Picoseconds{} : position->second;
}

}  // namespace neuron_sim
