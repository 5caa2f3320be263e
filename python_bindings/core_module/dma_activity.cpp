#include "python_bindings/core_module/dma_activity.h"

#include <algorithm>

namespace neuron_sim {

void DmaActivity::step(const Program& /*program*/, const StepEvent& event) {
  if (event.kind == EventKind::kTransfer) transfers_.push_back(event.span);
}

Picoseconds DmaActivity::active() const {
  std::vector<Span> transfers = transfers_;
  std::sort(transfers.begin(), transfers.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  Picoseconds sum{}, until{};
  for (const Span& transfer : transfers) {
    const Picoseconds start = std::max(transfer.start, until);
    if (transfer.done <= start) continue;
    sum += transfer.done - start;
    until = transfer.done;
  }
  return sum;
}

}  // namespace neuron_sim
