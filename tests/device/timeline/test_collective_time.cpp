// How long collectives take: round numbers by hand.

#include "device/timeline/collective_time.h"

#include <gtest/gtest.h>

#include <numeric>

#include "device/builder/builder.h"
#include "device/isa/dma/collective.h"
#include "device/isa/dma/dma_copy.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr int64_t kKibibyte = 1024, kMebibyte = 1024 * kKibibyte;

/// 8 cores to a chip, 4 chips to an instance; DMA engines that move 100 bytes per ns, reducing half
/// of that; 10 bytes per ns leave a chip, 4 an instance; steps of 1 and 20 us.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.limits.cores = 8;
  a.dma.engines = 10;
  a.dma.bytes_per_nanosecond = 10;
  a.dma.compute = 0.5;
  CollectiveTiming& timing = a.collective;
  timing.trigger = from_nanoseconds(10);
  timing.hop_latency = from_nanoseconds(1000);
  timing.instance_latency = from_nanoseconds(20000);
  timing.link_bytes_per_nanosecond = 10;
  timing.network_bytes_per_nanosecond = 1;
  timing.instance_chips = 4;
  timing.mesh = {kMebibyte};
  timing.recursive = {8 * kMebibyte};
  return a;
}

std::shared_ptr<const ReplicaGroups> ring_of(int64_t ranks) {
  std::vector<int64_t> list(static_cast<size_t>(ranks));
  std::iota(list.begin(), list.end(), 0);
  return std::make_shared<const ReplicaGroups>(ReplicaGroups{{list}});
}

/// ns of a collective whose larger buffer has that many bytes.
double time_of(CollectiveKind kind, std::shared_ptr<const ReplicaGroups> groups, int64_t bytes) {
  const Architecture architecture = round_numbers();
  const int64_t ranks = groups->largest_group();
  Builder builder("timed", architecture);
  const int64_t elements = bytes / 4;
  const bool gathers = kind == CollectiveKind::kAllGather;
  const bool scatters = kind == CollectiveKind::kReduceScatter;
  const View dst =
      builder.scratch("dst", {scatters ? elements / ranks : elements}, Dtype::kFloat32);
  const View src = builder.scratch("src", {gathers ? elements / ranks : elements}, Dtype::kFloat32);
  Collective collective{kind, dst, src, std::move(groups)};
  if (kind == CollectiveKind::kPermuteImplicitReduce) collective.other = src;
  builder.emit(collective);
  const auto program = builder.finish();
  return collective_time(*program, program->instructions[0], architecture).nanoseconds();
}

TEST(CollectiveTime, WithinAChipIsStepsAndTheRateOfTheDmaEngines) {
  const auto two = ring_of(2);
  EXPECT_EQ(time_of(CollectiveKind::kPermuteImplicit, two, 4000), 1000 + 4000 / 100);
  EXPECT_EQ(time_of(CollectiveKind::kAllGather, two, 8000), 1000 + 4000 / 100);
  EXPECT_EQ(time_of(CollectiveKind::kAllToAll, two, 8000), 1000 + 4000 / 100);
  EXPECT_EQ(time_of(CollectiveKind::kReduceScatter, two, 8000), 1000 + 4000 / 50);
  EXPECT_EQ(time_of(CollectiveKind::kAllReduce, two, 8000), 2000 + 4000 / 50 + 4000 / 100);
  EXPECT_EQ(time_of(CollectiveKind::kPermuteImplicitReduce, two, 4000), 1000 + 4000 / 50);
}

TEST(CollectiveTime, OfOneRankIsACopy) {
  EXPECT_EQ(time_of(CollectiveKind::kAllGather, ring_of(1), 4000), 40);
  EXPECT_EQ(time_of(CollectiveKind::kAllReduce, ring_of(1), 4000), 40);
  // But op(src, src1) of a ring is to be computed for one rank, too.
  EXPECT_EQ(time_of(CollectiveKind::kPermuteImplicitReduce, ring_of(1), 4000), 80);
}

TEST(CollectiveTime, BetweenChipsSharesTheirLinks) {
  // 16 ranks on two chips: of a gathered buffer half leaves each chip.
  EXPECT_EQ(time_of(CollectiveKind::kAllGather, ring_of(16), 64000), 2000 + 32000 / 10);
  // A rank has a 16th for each of the 8 ranks of the other chip; 8 ranks do.
  EXPECT_EQ(time_of(CollectiveKind::kAllToAll, ring_of(16), 64000), 2000 + 8 * 32000 / 10);
  // A ring leaves a chip once.
  EXPECT_EQ(time_of(CollectiveKind::kPermuteImplicit, ring_of(16), 64000), 1000 + 64000 / 10);
  // Eight groups of one rank per chip share the links.
  ReplicaGroups columns;
  for (int64_t rank = 0; rank < 8; ++rank) columns.groups.push_back({rank, rank + 8});
  EXPECT_EQ(time_of(CollectiveKind::kPermuteImplicit,
                    std::make_shared<const ReplicaGroups>(columns), 64000),
            1000 + 8 * 64000 / 10);
}

TEST(CollectiveTime, ChoosesTheAlgorithmBySize) {
  const auto four_chips = ring_of(32);
  const auto steps = [&](int64_t bytes) {
    const double transfer = static_cast<double>(bytes) * 24 / 32 / 10;
    return (time_of(CollectiveKind::kAllGather, four_chips, bytes) - transfer) / 1000;
  };
  EXPECT_NEAR(steps(kMebibyte - 128), 2, 1e-6);  // mesh: in the chip, and between chips
  EXPECT_NEAR(steps(kMebibyte), 1 + 2, 1e-6);    // doubling twice reaches four chips
  EXPECT_NEAR(steps(8 * kMebibyte), 1 + 2, 1e-6);
  EXPECT_NEAR(steps(8 * kMebibyte + 128), 16, 1e-6);  // a ring through every second rank
}

TEST(CollectiveTime, OfMediumSizeDoublesTheChipsOrGoesRound) {
  for (const int64_t chips : {2, 3, 4}) {  // of the four of an instance
    const int64_t ranks = 8 * chips, bytes = ranks * 768 * kKibibyte / 4;
    const double others = static_cast<double>(chips - 1) / static_cast<double>(chips);
    const double transfer = static_cast<double>(bytes) * others / 10;
    const double time = time_of(CollectiveKind::kAllGather, ring_of(ranks), bytes);
    // A step in the chip, and as many between chips as doublings reach them all; three chips
    // are a ring through every second rank.
    const double steps = chips == 2 ? 1 + 1 : chips == 3 ? 12 : 1 + 2;
    EXPECT_NEAR((time - transfer) / 1000, steps, 1e-6) << chips << " chips";
  }
}

TEST(CollectiveTime, BetweenInstancesTakesLongerSteps) {
  // 64 ranks on 8 chips, 4 to an instance: half of the buffer leaves each.
  EXPECT_EQ(time_of(CollectiveKind::kAllGather, ring_of(64), 64000), 2 * 20000 + 32000.0 / 4 / 1);
}

TEST(CollectiveTime, ARankSharesHbmWithTheNextOne) {
  // HBM of 100 bytes per ns for the two cores of a stack; the DMA engines of one move as many.
  Architecture architecture = round_numbers();
  architecture.dma.hbm_bytes_per_nanosecond = 100;
  const auto time_of_copies = [&](int64_t ranks, int64_t logical_cores) {
    architecture.limits.logical_cores = logical_cores;
    Builder builder("shared", architecture);
    const View a = builder.argument("a", {128, 65536}, Dtype::kFloat32);
    const View b = builder.argument("b", {128, 65536}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = b, .src = a});
    if (ranks > 0) {
      const View c = builder.scratch("c", {1}, Dtype::kFloat32);
      const View d = builder.scratch("d", {1}, Dtype::kFloat32);
      builder.emit(Collective{CollectiveKind::kAllReduce, d, c, ring_of(ranks)});
    }
    return simulate(*builder.finish()).body.nanoseconds();
  };
  const double alone = time_of_copies(0, 2);
  EXPECT_NEAR(time_of_copies(1, 2) / alone, 1, 0.01);
  EXPECT_NEAR(time_of_copies(2, 1) / alone, 1, 0.01);
  EXPECT_NEAR(time_of_copies(2, 2) / alone, 2, 0.02);
  EXPECT_NEAR(time_of_copies(16, 2) / alone, 2, 0.02);
}

/// Events of two collectives of a program, the second on other tensors.
struct Recorder : TimelineObserver {
  void step(const Program&, const StepEvent& event) override {
    if (event.unit == Unit::kCollective) events.push_back(event);
  }
  std::vector<StepEvent> events;
};

TEST(CollectiveTime, CollectivesOfACoreFollowEachOtherAndTheirData) {
  const Architecture architecture = round_numbers();
  Builder builder("queued", architecture);
  const View a = builder.scratch("a", {1000}, Dtype::kFloat32);
  const View b = builder.scratch("b", {1000}, Dtype::kFloat32);
  const View c = builder.scratch("c", {1000}, Dtype::kFloat32);
  const View d = builder.argument("d", {1000}, Dtype::kFloat32);
  const auto groups = ring_of(2);
  builder.emit(Collective{CollectiveKind::kPermuteImplicit, b, a, groups});
  Collective second{CollectiveKind::kPermuteImplicit, c, a, groups};
  second.follows = true;
  builder.emit(second);
  builder.emit(DmaCopy{.dst = d, .src = c});
  const auto program = builder.finish();
  Recorder recorder;
  TimelineOptions options{.observer = &recorder};
  const Timing timing = simulate(*program, {}, options);
  ASSERT_EQ(recorder.events.size(), 4U);
  const Span& trigger = recorder.events[0].span;
  const Span& first = recorder.events[1].span;
  const Span& after = recorder.events[3].span;
  EXPECT_EQ(recorder.events[1].kind, EventKind::kTransfer);
  EXPECT_EQ(recorder.events[1].bytes, 4000);
  EXPECT_EQ(recorder.events[1].pair, 0);
  EXPECT_EQ(trigger.end - trigger.start, from_nanoseconds(10));
  EXPECT_EQ(first.start, trigger.end);
  EXPECT_EQ(first.end - first.start, from_nanoseconds(1040));
  EXPECT_EQ(after.start, first.end);
  EXPECT_EQ(after.end - after.start, from_nanoseconds(40));  // shares the latency of the first
  EXPECT_GT(timing.body, after.done);                        // the copy waits for it
  // Its engine is busy for the triggers alone.
  EXPECT_EQ(timing.busy[static_cast<size_t>(program->instructions[0].engine)],
            from_nanoseconds(20));
}

/// Start of the last trigger on GpSimd: of a load after a load or a collective of other bytes.
Picoseconds last_trigger(bool after_collective, int64_t queue_set) {
  Architecture architecture = round_numbers();
  architecture.semaphore.queue_set = queue_set;
  Builder builder("queued", architecture);
  const View a = builder.scratch("a", {1000}, Dtype::kFloat32);
  const View b = builder.scratch("b", {1000}, Dtype::kFloat32);
  const View c = builder.scratch("c", {1000}, Dtype::kFloat32);
  const View d = builder.scratch("d", {1000}, Dtype::kFloat32);
  const auto on_gpsimd = [](const View& dst, const View& src) {
    return DmaCopy{.dst = dst, .src = src, .engine = EngineKind::kGpSimd};
  };
  if (after_collective) {
    builder.emit(Collective{CollectiveKind::kPermuteImplicit, b, a, ring_of(2)});
  } else {
    builder.emit(on_gpsimd(b, a));
  }
  builder.emit(on_gpsimd(d, c));
  const auto program = builder.finish();
  EXPECT_EQ(program->instructions[0].engine, EngineKind::kGpSimd);
  struct : TimelineObserver {
    void step(const Program&, const StepEvent& event) override {
      if (event.kind == EventKind::kTrigger) last = event.span.start;
    }
    Picoseconds last;
  } observer;
  TimelineOptions options{.observer = &observer};
  simulate(*program, {}, options);
  return observer.last;
}

TEST(CollectiveTime, ACollectiveUsesNoSemaphoreOfTheDmaQueue) {
  EXPECT_EQ(last_trigger(/*after_collective=*/true, 1), last_trigger(true, 16));
  EXPECT_GT(last_trigger(/*after_collective=*/false, 1), last_trigger(false, 16));
}

}  // namespace
}  // namespace neuron_sim
