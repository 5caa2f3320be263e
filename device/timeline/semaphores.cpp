#include "device/timeline/semaphores.h"

#include <algorithm>
#include <bit>

namespace neuron_sim {

Picoseconds Semaphores::start(EngineKind consumer, const Waits& waits, Picoseconds ready) {
  const auto own = static_cast<size_t>(consumer);
  Picoseconds start = ready;
  int signals = 0;
  for (uint32_t left = waits.producers(); left != 0; left &= left - 1) {
    const auto producer = static_cast<Slot>(std::countr_zero(left));
    const Picoseconds completion = waits.needed(producer);
    if (producer == slot_of(consumer)) {
      start = std::max(start, completion + timing_.same_engine);
      continue;
    }
    Picoseconds& waited = waited_[own][producer];
    if (completion <= waited) continue;
    waited = completion;
    ++signals;
    const size_t row = is_queue(producer) ? static_cast<size_t>(kEngineCount) : producer;
    start = std::max(start, completion + timing_.wake[row][own]);
  }
  if (signals > 1) start += timing_.extra_wait[own] * (signals - 1);
  return start;
}

Picoseconds Semaphores::largest() const {
  Picoseconds result = timing_.same_engine;
  for (const auto& row : timing_.wake) {
    for (const Picoseconds wake : row) result = std::max(result, wake);
  }
  Picoseconds extra{};
  for (const Picoseconds wait : timing_.extra_wait) extra = std::max(extra, wait);
  return result + extra * kSlotCount;
}

void Semaphores::visit(StateVisitor& visitor) {
  for (auto& row : waited_) {
    for (Picoseconds& time : row) visitor.time(time);
  }
}

}  // namespace neuron_sim
