#include "device/runtime/host_clock.h"

#include <atomic>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

std::atomic<int64_t> cost_of_submission{0};

}  // namespace

HostClock& host_clock() {
  static auto* const clock = new HostClock;
  return *clock;
}

void spend_host_time(Picoseconds duration) {
  require(duration.count >= 0, "a program spends no negative time");
  host_clock().wait_until(host_clock().now() + duration);
}

void set_submission_cost(Picoseconds cost) {
  require(cost.count >= 0, "a task costs its program no negative time");
  cost_of_submission.store(cost.count, std::memory_order_relaxed);
}

Picoseconds submission_cost() { return {cost_of_submission.load(std::memory_order_relaxed)}; }

}  // namespace neuron_sim
