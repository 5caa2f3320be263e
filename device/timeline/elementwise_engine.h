#pragma once
// Vector, Scalar and GpSimd: pipelines whose issue interval and latency differ.

#include "device/isa/demand.h"
#include "device/timeline/state_visitor.h"
#include "device/timeline/tensor_engine.h"

namespace neuron_sim {

/// Formulas: timing_findings.md section 2: interval = elements x rate + overhead cycles; result
/// visible after elements x rate + latency.
class ElementwiseEngine {
 public:
  ElementwiseEngine(const EngineTiming& timing, const Rates& rates, Gigahertz clock)
      : timing_(timing), rates_(rates), clock_(clock) {}

  Span run(const Step& step, Picoseconds ready);
  /// The engine does something else (a DMA trigger, a register instruction) for that long.
  Span occupy(Picoseconds ready, Picoseconds duration);
  Picoseconds next_issue() const { return next_issue_; }
  void hold_until(Picoseconds time) { next_issue_ = std::max(next_issue_, time); }
  Gigahertz clock() const { return clock_; }
  const EngineTiming& timing() const { return timing_; }
  void visit(StateVisitor& visitor);

 private:
  double rate(RateClass rate) const;

  const EngineTiming& timing_;
  const Rates& rates_;
  Gigahertz clock_;
  Picoseconds next_issue_{};
  int table_ = -1;
};

}  // namespace neuron_sim
