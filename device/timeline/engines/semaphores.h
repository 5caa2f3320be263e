#pragma once
// Waiting for other engines and DMA queues.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "device/arch/architecture.h"
#include "device/operand/engine.h"
#include "device/timeline/engines/span.h"
#include "device/timeline/engines/state_visitor.h"

namespace neuron_sim {

/// What an instruction must wait for: the latest completion of each engine, and every DMA transfer
/// by itself, because each has its own semaphore.
class Waits {
 public:
  void need(Slot producer, Picoseconds completion);

  size_t count() const { return count_; }
  Slot producer(size_t index) const { return producers_[index]; }
  Picoseconds completion(size_t index) const { return {completions_[index]}; }

  /// Transfers beyond these are waited for as one.
  static constexpr size_t kMaximum = 12;

 private:
  // In the order of semaphore numbers; valid up to count_.
  std::array<Slot, kMaximum> producers_;
  std::array<int64_t, kMaximum> completions_;
  size_t count_ = 0;
};

/// The transfers of one DMA queue that one engine has waited for. Each has its own semaphore, so
/// waiting for one does not cover another. Once the engine has waited for as many later transfers
/// as the queue has semaphores, those have reused the semaphore, and the transfer counts as waited
/// for.
class WaitedTransfers {
 public:
  /// `kept`: semaphores of the queue; if 0, waiting for a transfer covers all earlier ones.
  explicit WaitedTransfers(int64_t kept = 0) : kept_(static_cast<size_t>(kept)) {}

  bool has(Picoseconds completion) const {
    return completion <= all_until_ ||
           std::find(times_.begin(), times_.end(), completion) != times_.end();
  }
  void add(Picoseconds completion);
  void visit(StateVisitor& visitor);

 private:
  size_t kept_ = 0;
  Picoseconds all_until_{-1};
  std::vector<Picoseconds> times_;  // in the order of the waits
};

/// Turns waits into the earliest start of an instruction. An engine that has waited for a
/// semaphore value does not pay for it again. One instruction waits for one semaphore, that with
/// the lowest number in the order Scalar, Tensor, Vector, GpSimd, Sync, DMA (10 of 10 cases of the
/// trn2 traces); each further one is an EVENT_SEMAPHORE instruction before it
/// (docs/hardware_facts.md#semaphores).
class Semaphores {
 public:
  explicit Semaphores(const Architecture& architecture);

  /// Whether `consumer` has waited for this already.
  bool known(EngineKind consumer, Slot producer, Picoseconds completion) const {
    const auto own = static_cast<size_t>(consumer);
    if (is_queue(producer)) return transfers_[own][producer - kEngineCount].has(completion);
    return completion <= waited_[own][producer];
  }
  /// start() without waits.
  Picoseconds no_wait(Picoseconds ready) {
    event_count_ = 0;
    return ready;
  }
  /// Earliest start on `consumer` for these waits, none of them known, not before `ready`.
  Picoseconds start(EngineKind consumer, const Waits& waits, Picoseconds ready);
  /// The EVENT_SEMAPHORE instructions of the last call, in order.
  std::span<const Span> events() const { return {events_.data(), event_count_}; }
  /// When the consumer of the last call had seen completion `index` of its waits.
  Picoseconds released(size_t index) const { return released_[index]; }
  /// The largest wake-up or extra wait: a completion older than this cannot delay anybody.
  Picoseconds largest() const;
  void visit(StateVisitor& visitor);

 private:
  const SemaphoreTiming& timing_;
  // The latest completion of each engine, and the transfers of each queue, by consumer.
  std::array<std::array<Picoseconds, kEngineCount>, kEngineCount> waited_{};
  std::array<std::array<WaitedTransfers, kEngineCount>, kEngineCount> transfers_;
  std::array<Span, Waits::kMaximum> events_{};
  std::array<Picoseconds, Waits::kMaximum> released_{};
  size_t event_count_ = 0;
};

/// The semaphores of a DMA queue, which its transfers take in turn. Each transfer increments one of
/// them 16 times, once per DMA engine. A trigger waits for the transfer that last used its
/// semaphore, because one semaphore cannot tell two outstanding transfers apart: a queue has no
/// more outstanding transfers than semaphores (docs/hardware_facts.md#semaphores).
class QueueSemaphores {
 public:
  /// `count`: semaphores of the queue; if 0, outstanding transfers are not limited.
  explicit QueueSemaphores(int64_t count) : done_(static_cast<size_t>(count), kNever) {}

  /// When the semaphore of the next transfer is free: the completion of the transfer that last used
  /// it; negative if it is unused.
  Picoseconds next_free() const { return done_.empty() ? kNever : done_.front(); }
  /// The next transfer takes its semaphore until it completes at `done`.
  void take(Picoseconds done) {
    if (done_.empty()) return;
    std::move(done_.begin() + 1, done_.end(), done_.begin());
    done_.back() = done;
  }
  void visit(StateVisitor& visitor) {
    for (Picoseconds& time : done_) visitor.time(time);
  }

 private:
  static constexpr Picoseconds kNever{-1};
  std::vector<Picoseconds> done_;  // of the last transfers, oldest first: one per semaphore
};

}  // namespace neuron_sim
