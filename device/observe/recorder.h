#pragma once
// Listens to a timeline and keeps it as a Recording.

#include <array>
#include <unordered_map>

#include "device/observe/recording.h"

namespace neuron_sim {

/// Fills a Recording; `finish` adds what needs the whole run.
class Recorder final : public TimelineObserver {
 public:
  explicit Recorder(Recording& recording) : recording_(recording) {}

  void instance(const Program& program, const InstanceEvent& event) override;
  void step(const Program& program, const StepEvent& event) override;
  void shares(const Program& program, std::span<const DmaShare> shares) override;
  void finish();

 private:
  /// An event that may be the cause of another, and when it let that go.
  struct Candidate {
    CauseKind kind = CauseKind::kStart;
    uint32_t event = kNoIndex;
    Picoseconds time{};
  };
  /// The last events of an engine. Loads of weights run ahead of multiplies, by a few.
  struct EngineEvents {
    static constexpr size_t kKept = 8;
    std::array<uint32_t, kKept> recent{};  // a ring
    size_t count = 0;
    uint32_t longest = kNoIndex;   // with the latest end
    uint32_t multiply = kNoIndex;  // the last one
  };
  struct CoreEvents {
    std::array<EngineEvents, kEngineCount> engines;
    std::array<uint32_t, kEngineCount> transfers{kNoIndex, kNoIndex, kNoIndex, kNoIndex,
                                                 kNoIndex};  // the last one of each queue
    std::array<std::unordered_map<int64_t, uint32_t>, kSlotCount> completed;  // by time
    uint32_t instance = kNoIndex;
    uint32_t previous = kNoIndex;  // the last event of that instance
    uint32_t semaphores = 0;       // EVENT_SEMAPHOREs of that instance so far
  };

  CoreEvents& core(uint8_t index) { return cores_[index]; }
  const StepEvent& step_of(uint32_t event) const { return recording_.events[event].step; }
  Candidate engine_cause(const EngineEvents& engine, Picoseconds start) const;
  Candidate wait_cause(uint32_t instance) const;
  Candidate cause_of(const StepEvent& event, const CoreEvents& core) const;
  void note(const StepEvent& event, uint32_t index, CoreEvents& core);

  Recording& recording_;
  std::array<CoreEvents, kMaximumCores> cores_;
  uint32_t before_transfer_ = kNoIndex;  // the transfer of its queue before the last one
};

}  // namespace neuron_sim
