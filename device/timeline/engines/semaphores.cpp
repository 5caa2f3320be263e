#include "device/timeline/engines/semaphores.h"

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

}  // namespace

void Waits::need(Slot producer, Picoseconds completion) {
  const bool full = count_ == kMaximum;
  size_t place = count_;
  for (size_t i = 0; i < count_; ++i) {
    if (producers_[i] == producer) {
      if (completions_[i] == completion.count) return;
      if (!is_queue(producer) || full) {
        completions_[i] = std::max(completions_[i], completion.count);
        return;
      }
    }
    const bool before = rank(producer) != rank(producers_[i]) ? rank(producer) < rank(producers_[i])
                                                              : completion.count < completions_[i];
    if (before && place == count_) place = i;
  }
  // More producers than there are engines and queues, so some queue has two entries already.
  if (full) return need(producers_[kMaximum - 1], completion);
  for (size_t i = count_++; i > place; --i) {
    producers_[i] = producers_[i - 1];
    completions_[i] = completions_[i - 1];
  }
  producers_[place] = producer;
  completions_[place] = completion.count;
}

void WaitedTransfers::add(Picoseconds completion) {
  if (has(completion)) return;
  times_.push_back(completion);
  if (times_.size() <= kept_) return;
  all_until_ = std::max(all_until_, times_.front());
  times_.erase(times_.begin());
}

void WaitedTransfers::visit(StateVisitor& visitor) {
  visitor.time(all_until_);
  visitor.other(static_cast<int64_t>(times_.size()));
  for (Picoseconds& time : times_) visitor.time(time);
}

Semaphores::Semaphores(const Architecture& architecture) : timing_(architecture.semaphore) {
  for (auto& row : waited_) row.fill(kNever);
  for (auto& row : transfers_) row.fill(WaitedTransfers(timing_.queue_set));
}

Picoseconds Semaphores::start(EngineKind consumer, const Waits& waits, Picoseconds ready) {
  const auto own = static_cast<size_t>(consumer);
  event_count_ = 0;
  Picoseconds start = ready;
  // The instruction itself waits for the lowest, at last.
  for (size_t i = waits.count(); i-- > 0;) {
    const Slot producer = waits.producer(i);
    const Picoseconds completion = waits.completion(i);
    if (is_queue(producer)) {
      transfers_[own][producer - kEngineCount].add(completion);
    } else {
      waited_[own][producer] = std::max(waited_[own][producer], completion);
    }
    const size_t row = is_queue(producer) ? static_cast<size_t>(kEngineCount) : producer;
    const Picoseconds wake =
        producer == slot_of(consumer) ? timing_.same_engine : timing_.wake[row][own];
    released_[i] = completion + wake;
    start = std::max(start, released_[i]);
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
  for (auto& row : transfers_) {
    for (WaitedTransfers& transfers : row) transfers.visit(visitor);
  }
}

}  // namespace neuron_sim
