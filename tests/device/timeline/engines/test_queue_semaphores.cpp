#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/timeline/engines/semaphores.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }
constexpr EngineKind kSync = EngineKind::kSync, kScalar = EngineKind::kScalar;

TEST(QueueSemaphores, AreFreeUntilEachWasTakenOnce) {
  QueueSemaphores queue(3);
  for (int64_t transfer = 1; transfer <= 3; ++transfer) {
    EXPECT_LT(queue.next_free(), ns(0)) << transfer;
    queue.take(ns(100 * transfer));
  }
  EXPECT_EQ(queue.next_free(), ns(100));
}

TEST(QueueSemaphores, AreTakenInTurn) {
  QueueSemaphores queue(2);
  for (const int64_t done : {300, 100, 200, 400}) queue.take(ns(done));
  EXPECT_EQ(queue.next_free(), ns(200));
  queue.take(ns(500));
  EXPECT_EQ(queue.next_free(), ns(400));
}

TEST(QueueSemaphores, OfAQueueWithoutAnyAreNotWaitedFor) {
  QueueSemaphores queue(0);
  queue.take(ns(100));
  EXPECT_LT(queue.next_free(), ns(0));
}

/// Triggers take 10 ns, packets 1000 ns after 100 ns; nothing else takes time.
Architecture round_numbers(int64_t queue_set) {
  Architecture a = load_architecture("trn2");
  a.clocks = {{1}, {0.5}, {1}, {1}, {1}, {1}};
  for (EngineTiming* engine : {&a.vector, &a.scalar, &a.gpsimd, &a.sync}) {
    *engine = {};
    engine->minimum_cycles = 1;
    engine->stride_factor = 1;
  }
  a.dma = {};
  a.dma.engines = 16;
  a.dma.packet = a.dma.packet_store = ns(1000);
  a.dma.bytes_per_nanosecond = a.dma.bytes_per_nanosecond_store = 1e9;
  a.dma.hbm_bytes_per_nanosecond = 1e9;
  a.dma.hardware_trigger = ns(10);
  a.dma.hardware_first_load = a.dma.hardware_first_store = ns(100);
  a.semaphore = {};
  a.semaphore.queue_set = queue_set;
  a.semaphore.wake[5][static_cast<size_t>(kSync)] = ns(3);
  a.semaphore.extra_wait[static_cast<size_t>(kSync)] = ns(40);
  return a;
}

struct Triggers : TimelineObserver {
  void step(const Program&, const StepEvent& event) override {
    if (event.kind == EventKind::kTrigger) start.push_back(event.span.start);
    if (event.kind == EventKind::kTransfer) done.push_back(event.span.done);
    if (event.kind == EventKind::kWait) ++waits;
  }
  std::vector<Picoseconds> start, done;
  int waits = 0;
};

/// Loads of a tile of 16 rows each, the i-th on queues[i]; then, if any, a store of the last tile.
Triggers run(int64_t queue_set, const std::vector<EngineKind>& queues,
             std::optional<EngineKind> store = {}) {
  const Architecture architecture = round_numbers(queue_set);
  Builder builder("loads", architecture);
  const View input = builder.argument("input", {16, 4}, Dtype::kFloat32);
  const View output = builder.argument("output", {16, 4}, Dtype::kFloat32);
  View tile;
  for (const EngineKind queue : queues) {
    tile = builder.sbuf("t", {16, 4}, Dtype::kFloat32);
    builder.emit(DmaCopy{
        .dst = tile, .src = input, .descriptors = DescriptorKind::kHardware, .engine = queue});
  }
  if (store.has_value()) {
    builder.emit(DmaCopy{
        .dst = output, .src = tile, .descriptors = DescriptorKind::kHardware, .engine = *store});
  }
  Triggers triggers;
  TimelineOptions options{.observer = &triggers};
  simulate(*builder.finish(), {}, options);
  return triggers;
}

TEST(QueueSemaphores, ATriggerWaitsForTheTransferThatHadItsSemaphore) {
  const Triggers both = run(2, {kSync, kSync, kSync, kSync});
  EXPECT_EQ(both.start[1], ns(10));
  EXPECT_EQ(both.done[0], ns(1100));
  EXPECT_EQ(both.start[2], ns(1103));
  EXPECT_EQ(both.done[1], ns(2100));
  EXPECT_EQ(both.start[3], ns(2103));
  EXPECT_EQ(both.done[3], ns(4100));  // the queue had work all the time
}

TEST(QueueSemaphores, WithOneSemaphoreTransfersFollowEachOther) {
  const Triggers one = run(1, {kSync, kSync, kSync});
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(one.start[i], one.done[i - 1] + ns(3)) << i;
    EXPECT_EQ(one.done[i], one.start[i] + ns(1100)) << i;
  }
}

TEST(QueueSemaphores, ThatAreEnoughDelayNoTrigger) {
  const std::vector<EngineKind> queues(5, kSync);
  EXPECT_EQ(run(5, queues).start, run(0, queues).start);
  EXPECT_NE(run(4, queues).start, run(0, queues).start);
}

TEST(QueueSemaphores, EveryQueueHasItsOwn) {
  const Triggers two = run(1, {kSync, kScalar});
  EXPECT_EQ(two.start[0], ns(0));
  EXPECT_EQ(two.start[1], ns(0));
}

TEST(QueueSemaphores, AreASecondWaitOfATriggerThatWaitsForData) {
  // The store waits for its tile, from another queue, and for the semaphore of the first load.
  const Triggers single = run(1, {kSync, kScalar}, kSync);
  EXPECT_EQ(single.done[0], ns(1100));
  EXPECT_EQ(single.waits, 1);
  EXPECT_EQ(run(2, {kSync, kScalar}, kSync).waits, 0);
}

}  // namespace
}  // namespace neuron_sim
