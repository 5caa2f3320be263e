#include "device/base/interruption.h"

#include <time.h>

#include <atomic>

namespace neuron_sim {
namespace {

std::atomic<InterruptionCheck> installed{nullptr};

// Polls between two looks at the clock.
constexpr int kPollsPerLook = 8;

int64_t coarse_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // a few ns; its steps of some ms are enough
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Polls {
  int left = 0;
  int64_t next = 0;  ///< time of the next check
};
thread_local Polls polls;

}  // namespace

Interruption::~Interruption() = default;

void set_interruption_check(InterruptionCheck check) {
  allocate_thread_storage();  // now, not when a kernel has taken the host's memory
  installed.store(check, std::memory_order_relaxed);
}

void set_default_interruption_check(InterruptionCheck check) {
  allocate_thread_storage();
  InterruptionCheck none = nullptr;
  installed.compare_exchange_strong(none, check, std::memory_order_relaxed);
}

void allocate_thread_storage() {
  polls = {};
  try {
    throw 0;  // allocates libstdc++'s storage for exceptions
  } catch (int) {
  }
}

void check_interruption() {
  if (const InterruptionCheck check = installed.load(std::memory_order_relaxed)) check();
}

void poll_interruption() {
  Polls& mine = polls;
  if (--mine.left >= 0) return;
  mine.left = kPollsPerLook - 1;
  if (installed.load(std::memory_order_relaxed) == nullptr) return;
  const int64_t now = coarse_nanoseconds();
  if (now < mine.next) return;
  constexpr std::chrono::nanoseconds kInterval = kInterruptionInterval;
  const bool first = mine.next == 0;
  mine.next = now + kInterval.count();
  if (!first) check_interruption();
}

std::unique_lock<std::timed_mutex> interruptible_lock(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (lock.try_lock_until(std::chrono::system_clock::now() + kInterruptionInterval)) break;
    check_interruption();
  }
  return lock;
}

}  // namespace neuron_sim
