#pragma once
// When the DMA of a Program is active, as a profiler counts it.

#include <vector>

#include "device/timeline/timeline.h"

namespace neuron_sim {

/// Collects the transfers of a run.
class DmaActivity : public TimelineObserver {
 public:
  void step(const Program& program, const StepEvent& event) override;
  /// Time with at least one transfer between its first packet and its completion.
  Picoseconds active() const;

 private:
  std::vector<Span> transfers_;
};

}  // namespace neuron_sim
