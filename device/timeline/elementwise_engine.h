#pragma once
// Vector, Scalar and GpSimd: pipelines whose issue interval and latency differ.

#include "device/arch/architecture.h"
#include "device/isa/demand.h"
#include "device/timeline/span.h"
#include "device/timeline/state_visitor.h"

namespace neuron_sim {

/// Formulas: timing_findings.md section 2: interval = elements x rate + overhead cycles; result
/// visible after elements x rate + latency.
class ElementwiseEngine {
 public:
  ElementwiseEngine(const EngineTiming& timing, const Rates& rates, Gigahertz clock)
      : timing_(timing), rates_(rates), clock_(clock) {}

  Span run(const Step& step, Picoseconds ready);
  /// The table load that the last step needed; of length zero when it needed none.
  const Span& table_load() const { return table_load_; }
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
  Span table_load_{};
};

}  // namespace neuron_sim
