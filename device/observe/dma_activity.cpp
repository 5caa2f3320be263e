#include "device/observe/dma_activity.h"

#include <algorithm>

namespace neuron_sim {

namespace {

Picoseconds covered(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  Picoseconds sum{}, until{};
  for (const Span& span : spans) {
    const Picoseconds start = std::max(span.start, until);
    if (span.done <= start) continue;
    sum += span.done - start;
    until = span.done;
  }
  return sum;
}

}  // namespace

void DmaActivity::step(const Program& program, const StepEvent& event) {
  if (event.kind != EventKind::kTransfer) return;
  const Demand& demand = program.demands[program.instructions[event.instruction].demand];
  transfers_.push_back({event.span, event.bytes, demand.steps[0].store});
}

Picoseconds DmaActivity::active() const {
  std::vector<Span> spans;
  for (const Transfer& transfer : transfers_) spans.push_back(transfer.span);
  return covered(std::move(spans));
}

Picoseconds DmaActivity::active(bool stores) const {
  std::vector<Span> spans;
  for (const Transfer& transfer : transfers_) {
    if (transfer.store == stores) spans.push_back(transfer.span);
  }
  return covered(std::move(spans));
}

int64_t DmaActivity::bytes(bool stores) const {
  int64_t sum = 0;
  for (const Transfer& transfer : transfers_) {
    if (transfer.store == stores) sum += transfer.bytes;
  }
  return sum;
}

}  // namespace neuron_sim
