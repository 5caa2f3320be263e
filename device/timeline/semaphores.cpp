#include "device/timeline/semaphores.h"

#include <algorithm>

namespace neuron_sim {
namespace {

constexpr Picoseconds kNever{-1};

/// Position of a producer's semaphores in the order of their numbers.
constexpr int rank(Slot producer) {
  // Tensor, Vector, Scalar, GpSimd, Sync, then their queues.
  constexpr std::array<int, kSlotCount> kRank = {1, 2, 0, 3, 4, 5, 6, 7, 8, 9};
  return kRank[producer];
}

bool lower(const Waits::Wait& a, const Waits::Wait& b) {
  const int first = rank(a.producer), second = rank(b.producer);
  return first != second ? first < second : a.completion < b.completion;
}

}  // namespace

void Waits::need(Slot producer, Picoseconds completion) {
  for (size_t i = 0; i < count_; ++i) {
    Wait& known = waits_[i];
    if (known.producer != producer) continue;
    if (!is_queue(producer) || count_ == kMaximum) {
      known.completion = std::max(known.completion, completion);
      return;
    }
    if (known.completion == completion) return;
  }
  // Full only of transfers: there are more of them than all engines and queues together.
  if (count_ < kMaximum) {
    waits_[count_++] = {producer, completion};
  } else {
    waits_[count_ - 1].completion = std::max(waits_[count_ - 1].completion, completion);
  }
}

Semaphores::Semaphores(const Architecture& architecture) : timing_(architecture.semaphore) {
  for (auto& row : waited_) row.fill(kNever);
}

Picoseconds Semaphores::start(EngineKind consumer, const Waits& waits, Picoseconds ready) {
  const auto own = static_cast<size_t>(consumer);
  event_count_ = 0;
  std::array<Waits::Wait, 12> fresh;
  size_t count = 0;
  for (const Waits::Wait& wait : waits.all()) {
    if (wait.completion <= waited_[own][wait.producer]) continue;
    size_t place = count++;
    for (; place > 0 && lower(wait, fresh[place - 1]); --place) fresh[place] = fresh[place - 1];
    fresh[place] = wait;
  }
  Picoseconds start = ready;
  for (size_t i = count; i-- > 0;) {  // the instruction itself waits for the lowest, at last
    const Slot producer = fresh[i].producer;
    Picoseconds& waited = waited_[own][producer];
    waited = std::max(waited, fresh[i].completion);
    const size_t row = is_queue(producer) ? static_cast<size_t>(kEngineCount) : producer;
    const Picoseconds wake =
        producer == slot_of(consumer) ? timing_.same_engine : timing_.wake[row][own];
    start = std::max(start, fresh[i].completion + wake);
    if (i == 0) break;
    events_[event_count_++] = {start, start + timing_.extra_wait[own],
                               start + timing_.extra_wait_shown[own]};
    start += timing_.extra_wait[own];
  }
  return start;
}

Picoseconds Semaphores::largest() const {
  Picoseconds result = timing_.same_engine;
  for (const auto& row : timing_.wake) {
    for (const Picoseconds wake : row) result = std::max(result, wake);
  }
  Picoseconds extra{};
  for (const Picoseconds wait : timing_.extra_wait) extra = std::max(extra, wait);
  return result + extra * static_cast<int64_t>(events_.size());
}

void Semaphores::visit(StateVisitor& visitor) {
  for (auto& row : waited_) {
    for (Picoseconds& time : row) visitor.time(time);
  }
}

}  // namespace neuron_sim
