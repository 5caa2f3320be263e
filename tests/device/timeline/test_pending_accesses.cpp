#include "device/timeline/pending_accesses.h"

#include <gtest/gtest.h>

#include <random>

namespace neuron_sim {
namespace {

constexpr Slot kTensor = slot_of(EngineKind::kTensor), kVector = slot_of(EngineKind::kVector);
constexpr Region kBytes{.low = 0, .run = 8};

/// Accesses of one hazard group, one after the other.
class Group {
 public:
  Group() : semaphores(load_architecture("trn2")) {}

  Waits waits(const Region& region, bool reads, bool writes, Slot own) {
    Waits waits;
    pending.gather(region, reads, writes, own, semaphores, waits);
    return waits;
  }
  /// Waits for what an access needs and leaves it pending until `done`.
  void access(const Region& region, bool reads, bool writes, Slot own, Picoseconds done) {
    semaphores.start(engine_of(own), waits(region, reads, writes, own), {});
    pending.record(region, writes, own, done);
  }

  Semaphores semaphores;
  PendingAccesses pending;
};

TEST(PendingAccesses, AReaderSettlesAWriteOnceItHasWaitedForIt) {
  Group group;
  group.access(kBytes, false, true, kVector, {100});
  EXPECT_FALSE(group.pending.is_settled(false, kTensor));
  group.access({.low = 8, .run = 8}, true, false, kTensor, {200});  // other bytes: no wait
  EXPECT_FALSE(group.pending.is_settled(false, kTensor));
  group.access(kBytes, true, false, kTensor, {300});
  EXPECT_TRUE(group.pending.is_settled(false, kTensor));
  EXPECT_FALSE(group.pending.is_settled(false, kVector));
  group.access(kBytes, false, true, kVector, {400});
  EXPECT_FALSE(group.pending.is_settled(false, kTensor));
}

TEST(PendingAccesses, AWriterSettlesReadsTooUntilAnotherEngineReads) {
  Group group;
  for (int64_t time = 100; time < 400; time += 100) {
    group.access(kBytes, false, true, kTensor, {time});
  }
  EXPECT_TRUE(group.pending.is_settled(true, kTensor));  // it accumulates
  group.access(kBytes, true, false, kVector, {500});
  EXPECT_TRUE(group.pending.is_settled(false, kTensor));
  EXPECT_FALSE(group.pending.is_settled(true, kTensor));
  EXPECT_EQ(group.waits(kBytes, false, true, kTensor).count(), 1u);
}

TEST(PendingAccesses, AnEngineWaitsForItsOwnWriteOnlyToReadIt) {
  Group group;
  group.access(kBytes, false, true, kVector, {100});
  EXPECT_EQ(group.waits(kBytes, false, true, kVector).count(), 0u);
  EXPECT_FALSE(group.pending.is_settled(false, kVector));
  EXPECT_EQ(group.waits(kBytes, true, false, kVector).count(), 1u);
}

TEST(PendingAccesses, NothingIsSettledAfterItsTimesMoved) {
  Group group;
  group.access(kBytes, false, true, kTensor, {100});
  group.access(kBytes, false, true, kTensor, {200});
  ASSERT_TRUE(group.pending.is_settled(true, kTensor));
  group.pending.moved_history();
  EXPECT_FALSE(group.pending.is_settled(true, kTensor));
}

/// The rule for one entry, as an engine or a queue would look at it.
bool waits_for(const HistoryEntry<Completion>& entry, bool is_write, bool reads, Slot own,
               const Semaphores& semaphores) {
  if (!is_queue(own) && entry.slot == own) {
    if (own == kTensor || !is_write || !reads) return false;
  }
  return !semaphores.known(engine_of(own), entry.slot, entry.stamp.time);
}

TEST(PendingAccesses, SettledAccessesWaitForNothingInRandomOrders) {
  std::mt19937 random(3);
  const auto below = [&](unsigned limit) { return static_cast<int64_t>(random() % limit); };
  int64_t settled = 0, waited = 0;
  for (int repetition = 0; repetition < 100; ++repetition) {
    Group group;
    for (int64_t number = 1; number <= 200; ++number) {
      const Region region{.low = below(4) * 8, .run = 8 + below(2) * 8};
      const auto own = static_cast<Slot>(below(repetition % 2 == 0 ? 2 : kSlotCount));
      const bool writes = below(3) == 0, reads = !writes || below(2) == 0;
      int64_t expected = 0;
      group.pending.history().collect(
          region, reads, writes,
          [&](const HistoryEntry<Completion>& entry, bool is_write) {
            return waits_for(entry, is_write, reads, own, group.semaphores);
          },
          [&](const HistoryEntry<Completion>&, bool) { ++expected; });
      if (group.pending.is_settled(writes, own)) {
        EXPECT_EQ(expected, 0) << repetition << ", " << number;
        ++settled;
      }
      EXPECT_EQ(group.waits(region, reads, writes, own).count() > 0, expected > 0)
          << repetition << ", " << number;
      waited += expected > 0 ? 1 : 0;
      group.access(region, reads, writes, own, {number * 100 + below(300)});
    }
  }
  EXPECT_GT(settled, 1000);
  EXPECT_GT(waited, 1000);
}

}  // namespace
}  // namespace neuron_sim
