#pragma once
// How a long computation ends early. The program that runs this library installs a check (Python's
// looks for a signal such as Ctrl-C), and every long computation calls it at intervals.

#include <chrono>
#include <mutex>

#include "device/base/condition_variable.h"

namespace neuron_sim {

/// Thrown where a computation is given up because its caller wants that. Results are unspecified;
/// devices, caches and memories stay usable. It is neither a std::exception nor a KernelError, so
/// that no handler on the way treats it as one and continues, as a fallback would.
class Interruption {
 public:
  virtual ~Interruption();
  /// Makes the language of the caller raise the reason, for example KeyboardInterrupt.
  virtual void raise() = 0;

 protected:
  Interruption() = default;
  Interruption(const Interruption&) = default;
  Interruption& operator=(const Interruption&) = default;
};

/// Throws Interruption when the calling thread is to give up what it computes. Called without any
/// lock that it might need; it may take one itself, as the interpreter's.
using InterruptionCheck = void (*)();
/// Null: nothing interrupts (the default). Calls allocate_thread_storage().
void set_interruption_check(InterruptionCheck check);
/// Installs `check` unless there is one: modules of Python are loaded in any order, and the check
/// of torch's raises what torch can pass on.
void set_default_interruption_check(InterruptionCheck check);

/// Allocates the calling thread's thread-local storage, of this library and for exceptions. Its
/// first use allocates it otherwise, and glibc ends the process where it cannot.
void allocate_thread_storage();

/// The longest time between two calls of the check while something polls.
inline constexpr std::chrono::milliseconds kInterruptionInterval{50};

/// Calls the check when kInterruptionInterval has passed since this thread's last call. A few
/// nanoseconds: called once per instance or statement by what walks over programs.
void poll_interruption();
/// Calls the check now: for steps that take long, and after waiting.
void check_interruption();

/// Locks `mutex`, which another thread may hold for as long as a kernel runs.
std::unique_lock<std::timed_mutex> interruptible_lock(std::timed_mutex& mutex);

/// condition.wait(lock, done), which can be interrupted; `lock` is held again when it throws.
template <typename Done>
void interruptible_wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                        Done done) {
  while (
      !condition.wait_until(lock, std::chrono::system_clock::now() + kInterruptionInterval, done)) {
    lock.unlock();
    try {
      check_interruption();
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
  }
}

}  // namespace neuron_sim
