#pragma once
// Vector, Scalar and GpSimd: pipelines whose issue interval and latency differ.

#include "device/arch/architecture.h"
#include "device/instruction/demand.h"
#include "device/timeline/engines/span.h"
#include "device/timeline/engines/state_visitor.h"

namespace neuron_sim {

/// Formulas (docs/hardware_facts.md#engine-timing): interval = elements x rate + overhead cycles;
/// result visible after elements x rate + latency.
///
/// A sequencer issues the instructions in order. It continues as soon as the pipeline has taken
/// one: in the trn2 attention traces a DMA instruction of Scalar starts 102 ns after a copy that
/// keeps the pipeline busy for 477, while the next copy waits for the end of the DMA instruction.
class ElementwiseEngine {
 public:
  ElementwiseEngine(const EngineTiming& timing, const Rates& rates, Gigahertz clock)
      : timing_(timing), rates_(rates), clock_(clock) {}

  Span run(const Step& step, Picoseconds ready);
  /// The table load that the last step needed; of length zero when it needed none.
  const Span& table_load() const { return table_load_; }
  /// The engine does something else (descriptors in software, a register instruction) so long.
  Span occupy(Picoseconds ready, Picoseconds duration);
  /// Its sequencer alone does something else (a DMA trigger) so long.
  Span dispatch(Picoseconds ready, Picoseconds duration);
  /// When the pipeline, and when the sequencer alone, can take the next instruction.
  Picoseconds next_issue() const { return std::max(pipeline_free_, sequencer_free_); }
  Picoseconds next_dispatch() const { return sequencer_free_; }
  void hold_until(Picoseconds time) { sequencer_free_ = std::max(sequencer_free_, time); }
  void hold_pipeline_until(Picoseconds time) { pipeline_free_ = std::max(pipeline_free_, time); }
  Gigahertz clock() const { return clock_; }
  const EngineTiming& timing() const { return timing_; }
  void visit(StateVisitor& visitor);

 private:
  void load_table(int table);
  void begin(Picoseconds start);

  const EngineTiming& timing_;
  const Rates& rates_;
  Gigahertz clock_;
  Picoseconds pipeline_free_{}, sequencer_free_{};
  bool began_ = false;           // an instruction was issued
  bool idle_for_table_ = false;  // the first one came so late that a table was loaded before it
  int table_ = -1;
  Span table_load_{};
};

}  // namespace neuron_sim
