#pragma once
// Waiting for other engines and DMA queues.

#include <array>

#include "device/arch/architecture.h"
#include "device/program/engine.h"
#include "device/timeline/state_visitor.h"

namespace neuron_sim {

/// Latest completion, per producer, that an instruction must wait for.
class Waits {
 public:
  void need(Slot producer, Picoseconds completion) {
    const auto bit = static_cast<uint32_t>(1) << producer;
    Picoseconds& now = needed_[producer];
    if ((producers_ & bit) == 0 || completion > now) now = completion;
    producers_ |= bit;
  }
  Picoseconds needed(Slot producer) const { return needed_[producer]; }
  /// Bit i: something of slot i is waited for.
  uint32_t producers() const { return producers_; }
  static constexpr Picoseconds kNone{-1};

 private:
  uint32_t producers_ = 0;
  std::array<Picoseconds, kSlotCount> needed_;  // valid where the bit is set
};

/// Turns waits into the earliest start of an instruction. An engine that has waited for a
/// semaphore value does not pay for it again; a second wait of one instruction costs an extra
/// EVENT_SEMAPHORE (timing_findings.md section 3).
class Semaphores {
 public:
  explicit Semaphores(const Architecture& architecture) : timing_(architecture.semaphore) {
    for (auto& row : waited_) row.fill(Waits::kNone);
  }

  /// Earliest start on `consumer` for these waits, not before `ready`.
  Picoseconds start(EngineKind consumer, const Waits& waits, Picoseconds ready);
  /// The largest wake-up or extra wait: a completion older than this cannot delay anybody.
  Picoseconds largest() const;
  void visit(StateVisitor& visitor);

 private:
  const SemaphoreTiming& timing_;
  std::array<std::array<Picoseconds, kSlotCount>, kEngineCount> waited_{};
};

}  // namespace neuron_sim
