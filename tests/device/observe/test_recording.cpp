#include "device/observe/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "device/observe/dma_activity.h"
#include "tests/device/program/random_program.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

std::shared_ptr<const Program> random_program(uint64_t seed) {
  RandomProgramOptions options{.longest_loop = 4};
  return RandomProgram(seed, load_architecture("trn2"), options).build();
}

/// A load, an addition that needs it, and a store of the sum.
std::shared_ptr<const Program> load_add_store() {
  Builder builder("chain", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 512}, Dtype::kFloat32);
  const View result = builder.argument("result", {128, 512}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 512}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = a, .src = source});
  builder.emit(TensorTensor{b, a, a, AluOp::kAdd, EngineKind::kVector});
  builder.emit(DmaCopy{.dst = result, .src = b});
  return builder.finish();
}

const RecordedEvent& event_of(const Recording& recording, size_t instance, EventKind kind) {
  return *std::ranges::find_if(recording.events, [&](const RecordedEvent& event) {
    return event.instance == instance && event.step.kind == kind;
  });
}

TEST(Recording, SumsToTheCountersOfTheTimeline) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto program = random_program(seed);
    const Recording recording = record(*program);
    const Timing timing = simulate(*program);
    std::array<int64_t, kEngineCount> busy{};
    int64_t bytes = 0, transfers = 0;
    for (const RecordedEvent& event : recording.events) {
      busy[static_cast<size_t>(event.step.engine)] += event.step.busy.count;
      bytes += event.step.bytes;
      transfers += event.step.kind == EventKind::kTransfer;
    }
    Picoseconds dma_busy{};
    int64_t shared_bytes = 0;
    for (const RecordedShare& share : recording.shares) {
      dma_busy += share.share.duration;
      shared_bytes += share.share.bytes;
      EXPECT_GE(share.share.end - share.share.start, share.share.duration);
    }
    for (size_t i = 0; i < busy.size(); ++i) EXPECT_EQ(busy[i], timing.busy[i].count);
    EXPECT_EQ(dma_busy, timing.dma_busy);
    EXPECT_EQ(bytes, timing.dma_bytes);
    EXPECT_EQ(shared_bytes, timing.dma_bytes);
    EXPECT_EQ(transfers, timing.dma_transfers);
    EXPECT_EQ(static_cast<int64_t>(recording.instances.size()), timing.instances);
    EXPECT_EQ(recording.timing.body, timing.body);
  }
}

TEST(Recording, SharesOfARingFollowEachOther) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto program = random_program(seed);
    const Recording recording = record(*program);
    std::map<std::pair<EngineKind, int64_t>, Picoseconds> ends;
    for (const RecordedShare& share : recording.shares) {
      Picoseconds& end = ends[{recording.events[share.event].step.engine, share.share.engine}];
      EXPECT_GE(share.share.start, end);
      end = share.share.end;
    }
  }
}

TEST(Recording, NamesTheProducerOfEveryWait) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto program = random_program(seed);
    const Recording recording = record(*program);
    for (size_t i = 0; i < recording.instances.size(); ++i) {
      for (const RecordedWait& wait : recording.waits_of(i)) {
        ASSERT_NE(wait.event, kNoIndex);
        const RecordedEvent& producer = recording.events[wait.event];
        EXPECT_EQ(producer.step.span.done, wait.awaited.completion);
        EXPECT_LT(producer.instance, i);
        EXPECT_GE(recording.instances[i].start, wait.awaited.released);
      }
    }
  }
}

TEST(Recording, SaysForWhomAndSinceWhenAnInstanceWaits) {
  const auto program = load_add_store();
  const Recording recording = record(*program);
  ASSERT_EQ(recording.instances.size(), 3U);
  const RecordedInstance& sum = recording.instances[1];
  EXPECT_EQ(sum.ready, Picoseconds{0});  // Vector has nothing else to do
  ASSERT_EQ(recording.waits_of(1).size(), 1U);
  const RecordedWait& wait = recording.waits_of(1)[0];
  const RecordedEvent& load = event_of(recording, 0, EventKind::kTransfer);
  EXPECT_EQ(wait.awaited.producer, queue_of(load.step.engine));
  EXPECT_EQ(wait.awaited.completion, load.step.span.done);
  EXPECT_EQ(&recording.events[wait.event], &load);
  EXPECT_EQ(recording.waits_of(1).data(), recording.waits.data() + sum.bound);
  EXPECT_EQ(sum.start, wait.awaited.released);
  const RecordedEvent& step = event_of(recording, 1, EventKind::kStep);
  EXPECT_EQ(step.step.span.start, sum.start);
  EXPECT_EQ(step.cause_kind, CauseKind::kSemaphore);
  EXPECT_EQ(&recording.events[step.cause], &load);
}

TEST(Recording, TheLastOfSeveralWaitsIsTheCause) {
  Builder builder("two waits", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 512}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 512}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = a, .src = source});
  builder.emit(DmaCopy{.dst = b, .src = source});
  builder.emit(TensorTensor{a, a, b, AluOp::kAdd, EngineKind::kVector});
  const auto program = builder.finish();
  const Recording recording = record(*program);
  ASSERT_EQ(recording.waits_of(2).size(), 2U);
  const RecordedEvent& first = event_of(recording, 0, EventKind::kTransfer);
  const RecordedEvent& second = event_of(recording, 1, EventKind::kTransfer);
  ASSERT_GT(second.step.span.done, first.step.span.done);
  const RecordedEvent& sum = event_of(recording, 2, EventKind::kStep);
  EXPECT_EQ(sum.cause_kind, CauseKind::kSemaphore);
  EXPECT_EQ(&recording.events[sum.cause], &second);
  const RecordedEvent& semaphore = event_of(recording, 2, EventKind::kWait);
  EXPECT_EQ(semaphore.cause_kind, CauseKind::kSemaphore);
}

TEST(Recording, ATransferFollowsFromItsTrigger) {
  const auto program = load_add_store();
  const Recording recording = record(*program);
  for (const size_t instance : {0, 2}) {
    const RecordedEvent& transfer = event_of(recording, instance, EventKind::kTransfer);
    EXPECT_EQ(transfer.cause_kind, CauseKind::kIssue);
    EXPECT_EQ(&recording.events[transfer.cause],
              &event_of(recording, instance, EventKind::kTrigger));
  }
}

TEST(Recording, ASecondTransferOfABusyRingWaitsForTheFirst) {
  Builder builder("loads", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 8192}, Dtype::kFloat32);
  for (const char* label : {"a", "b"}) {
    const View tile = builder.sbuf(label, {128, 8192}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = tile, .src = source});
  }
  const auto program = builder.finish();
  const Recording recording = record(*program);
  const RecordedEvent& second = event_of(recording, 1, EventKind::kTransfer);
  EXPECT_EQ(second.cause_kind, CauseKind::kQueue);
  EXPECT_EQ(&recording.events[second.cause], &event_of(recording, 0, EventKind::kTransfer));
}

TEST(Recording, CausesComeBeforeTheirEffects) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto program = random_program(seed);
    const Recording recording = record(*program);
    for (size_t i = 0; i < recording.events.size(); ++i) {
      const RecordedEvent& event = recording.events[i];
      if (event.cause == kNoIndex) {
        EXPECT_EQ(event.cause_kind, CauseKind::kStart);
        continue;
      }
      EXPECT_LT(event.cause, i);
      const Span& cause = recording.events[event.cause].step.span;
      if (event.cause_kind == CauseKind::kQueue) {  // other rings of the transfer may begin earlier
        EXPECT_LE(cause.end, event.step.span.end);
      } else {
        EXPECT_LE(cause.start, event.step.span.start);
      }
    }
  }
}

TEST(Recording, KeepsTheCoresApart) {
  Builder builder("pair", load_architecture("trn2"));
  const View data = builder.argument("data", {1, 4}, Dtype::kFloat32);
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View t = builder.sbuf("t", {1, 4}, Dtype::kFloat32);
      const View u = builder.sbuf("u", {1, 4}, Dtype::kFloat32);
      builder.emit(Memset{t, 0});
      builder.emit(CoreBarrier{.data = data});
      builder.emit(exchange_of(core, u, t));
    });
  }
  const auto program = builder.finish();
  const Recording recording = record(*program);
  ASSERT_EQ(recording.instances.size(), 6U);
  for (const RecordedEvent& event : recording.events) {
    EXPECT_EQ(event.step.core, recording.instances[event.instance].core);
    EXPECT_EQ(event.step.instruction, recording.instances[event.instance].instruction);
  }
}

TEST(Recording, AnEmptyProgramHasNothingButItsLaunch) {
  const auto program = Builder("nothing", load_architecture("trn2")).finish();
  const Recording recording = record(*program);
  EXPECT_TRUE(recording.events.empty());
  EXPECT_TRUE(recording.lives.empty());
  EXPECT_EQ(recording.phases.body.start, recording.phases.body.end);
}

}  // namespace
}  // namespace neuron_sim
