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
  /// Time with at least one store (its source is SBUF) in transit, or with one of all the others.
  Picoseconds active(bool stores) const;
  int64_t bytes(bool stores) const;

 private:
  struct Transfer {
    Span span;
    int64_t bytes = 0;
    bool store = false;
  };
  std::vector<Transfer> transfers_;
};

}  // namespace neuron_sim
