#pragma once
// A timeline as a Chrome trace: open it in https://ui.perfetto.dev or chrome://tracing.

#include <ostream>

#include "device/program/control_log.h"
#include "device/program/program.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {

/// Collects every step of a run as a complete event: one track per engine and DMA queue, with the
/// operands as arguments; the cores of a program are processes. Transfers of a queue that run at
/// the same time are on lanes "DMA queue of Sync, 2" and so on, so that slices of a track never
/// overlap. Times are microseconds, with picosecond digits.
class TraceObserver : public TimelineObserver {
 public:
  void step(const Program& program, const StepEvent& event) override;
  /// Writes the Trace Event Format JSON object. `start` shifts all events (the program's start on
  /// the device's schedule).
  void write(std::ostream& out, const Program& program, Picoseconds start = {}) const;
  size_t size() const { return events_.size(); }

 private:
  std::vector<StepEvent> events_;
};

/// Simulates the program once more with an observer and writes its trace; returns its timing.
Timing write_trace(std::ostream& out, const Program& program, const ControlLog& log = {});

}  // namespace neuron_sim
