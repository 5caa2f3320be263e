// When two cores are past core_barrier and sendrecv: tight edges with round numbers.

#include "device/timeline/peer.h"

#include <gtest/gtest.h>

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/program/two_cores.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }
constexpr EngineKind kVector = EngineKind::kVector, kGpSimd = EngineKind::kGpSimd;

/// Engines of 1 GHz that take one cycle per element and show results 100 ns later; a signal of
/// 10 ns that the other core sees 50 ns later.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.clocks.vector = a.clocks.scalar = a.clocks.gpsimd = a.clocks.sync = {1};
  for (EngineTiming* engine : {&a.vector, &a.scalar, &a.gpsimd, &a.sync}) {
    *engine = {};
    engine->minimum_cycles = 1;
    engine->latency = ns(100);
    engine->stride_factor = 1;
  }
  a.rates.cycles.fill(1);
  a.semaphore = {};
  a.peer = {ns(10), ns(50), ns(200), 4};
  return a;
}

struct Recorder : TimelineObserver {
  void step(const Program&, const StepEvent& event) override { events.push_back(event); }
  std::vector<StepEvent> events;
};

/// A kernel of two cores with a shared tensor and two tiles [128, 512] each.
class Bench {
 public:
  explicit Bench(Architecture architecture = round_numbers())
      : architecture_(std::move(architecture)),
        builder("peer", architecture_),
        shared(builder.argument("shared", {2, 128, 512}, Dtype::kFloat32)) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] {
        for (View* tile : {&t[core], &u[core]}) {
          *tile = builder.sbuf("t", {128, 512}, Dtype::kFloat32);
        }
      });
    }
  }
  /// The engine of a core is busy for that many ns.
  void work(int core, EngineKind engine, int64_t nanoseconds, const View& tile) {
    builder.core(core, [&] { builder.emit(Memset{tile.slice(1, 0, nanoseconds), 0, engine}); });
  }
  void barrier(EngineKind engine = EngineKind::kAuto) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] { builder.emit(CoreBarrier{.data = shared, .engine = engine}); });
    }
  }
  void exchange(DmaEngine dma_engine) {
    for (const int core : {0, 1}) {
      builder.core(core, [&] { builder.emit(exchange_of(core, u[core], t[core], 0, dma_engine)); });
    }
  }
  /// Events by core.
  std::array<std::vector<StepEvent>, 2> run() {
    Recorder recorder;
    TimelineOptions options{.observer = &recorder};
    program = builder.finish();
    timing = simulate(*program, {}, options);
    std::array<std::vector<StepEvent>, 2> result;
    for (const StepEvent& event : recorder.events) result[event.core].push_back(event);
    return result;
  }

 private:
  Architecture architecture_;

 public:
  Builder builder;
  View shared, t[2], u[2];
  std::shared_ptr<const Program> program;
  Timing timing;
};

TEST(Peer, BarrierHoldsEachCoreUntilItSeesTheOther) {
  // Core 0 arrives at 100. Core 1 arrives earlier, so that its signal is there in time, just in
  // time, or late.
  for (const int64_t other : {1, 49, 50, 51, 100, 149, 150, 151, 400}) {
    Bench bench;
    bench.work(0, kGpSimd, 100, bench.t[0]);
    bench.work(1, kGpSimd, other, bench.t[1]);
    bench.barrier();
    bench.work(0, kGpSimd, 5, bench.u[0]);
    bench.work(1, kGpSimd, 5, bench.u[1]);
    const auto events = bench.run();
    const int64_t first = std::max<int64_t>(110, other + 60);
    const int64_t second = std::max<int64_t>(other + 10, 160);
    EXPECT_EQ(events[0][1].span.start, ns(100));
    EXPECT_EQ(events[0][1].span.end, ns(first)) << other;
    EXPECT_EQ(events[0][2].span.start, ns(first)) << other;
    EXPECT_EQ(events[1][1].span.start, ns(other));
    EXPECT_EQ(events[1][1].span.end, ns(second)) << other;
    EXPECT_EQ(events[1][2].span.start, ns(second)) << other;
    EXPECT_EQ(bench.timing.cores[0].waiting, ns(first - 110));
    EXPECT_EQ(bench.timing.cores[1].waiting, ns(second - other - 10));
    EXPECT_EQ(bench.timing.cores[0].busy[3], ns(100 + 10 + 5));
  }
}

TEST(Peer, BarrierHoldsOnlyTheChosenEngine) {
  for (int chosen = 0; chosen < kEngineCount; ++chosen) {
    Bench bench;
    bench.work(1, kVector, 400, bench.t[1]);
    bench.builder.core(1, [&] {  // core 1 comes late: the engine reads what Vector wrote
      bench.builder.emit(DmaCopy{
          .dst = bench.shared.select(0, 1), .src = bench.t[1], .engine = EngineKind::kScalar});
    });
    bench.barrier(static_cast<EngineKind>(chosen));
    bench.work(0, kVector, 7, bench.t[0]);
    bench.work(0, kGpSimd, 7, bench.u[0]);
    const auto events = bench.run();
    const Picoseconds release = events[0][0].span.end;
    EXPECT_GT(release, ns(500));
    for (const size_t i : {1, 2}) {
      const bool waits = static_cast<int>(events[0][i].engine) == chosen;
      EXPECT_EQ(events[0][i].span.start, waits ? release : ns(0)) << chosen;
    }
  }
}

TEST(Peer, BarrierWaitsForItsTensorAndItsTensorForTheBarrier) {
  Bench bench;
  bench.builder.core(
      0, [&] { bench.builder.emit(DmaCopy{.dst = bench.shared.select(0, 0), .src = bench.t[0]}); });
  bench.barrier();
  bench.builder.core(
      1, [&] { bench.builder.emit(DmaCopy{.dst = bench.t[1], .src = bench.shared.select(0, 0)}); });
  const auto events = bench.run();
  const Picoseconds written = events[0][1].span.done;  // trigger, transfer, barrier
  EXPECT_EQ(events[0][2].span.start, written);
  EXPECT_EQ(events[1][0].span.start, ns(0));
  EXPECT_EQ(events[1][0].span.end, written + ns(60));
  EXPECT_EQ(events[1][1].span.start, written + ns(60));  // trigger on Sync
}

TEST(Peer, ExchangeByDmaIsBetweenTwoBarriers) {
  for (const int64_t late : {0, 1, 300}) {
    Bench bench;
    if (late > 0) bench.work(1, kVector, late, bench.t[1]);  // visible at late + 100
    bench.exchange(DmaEngine::kDma);
    for (const int core : {0, 1}) {
      bench.builder.core(core, [&] {
        bench.builder.emit(
            Memset{bench.builder.sbuf("v", {1, 1}, Dtype::kFloat32), 0, EngineKind::kVector});
        bench.builder.emit(TensorCopy{bench.t[core], bench.u[core], kVector});
      });
    }
    const auto events = bench.run();
    const size_t first = late > 0 ? 1 : 0;
    const StepEvent &trigger0 = events[0][0], &trigger1 = events[1][first];
    const StepEvent &move0 = events[0][1], &move1 = events[1][first + 1];
    EXPECT_EQ(trigger0.kind, EventKind::kTrigger);
    EXPECT_EQ(trigger1.kind, EventKind::kTrigger);
    const Picoseconds arrived = late > 0 ? ns(late + 100) : ns(0);
    EXPECT_EQ(trigger0.span.start, ns(0));
    EXPECT_EQ(trigger1.span.start, arrived);
    // A store of hardware descriptors, between two barriers: a signal of 10 ns, and 50 ns until
    // the other core sees it.
    const DmaTiming& dma = bench.program->architecture->dma;
    EXPECT_EQ(move0.span.start, arrived + ns(60) + dma.hardware_first_store);
    EXPECT_EQ(move1.span.start, std::max(arrived, ns(50)) + ns(10) + dma.hardware_first_store);
    const Picoseconds sent0 = move0.span.end + dma.complete_store;
    const Picoseconds sent1 = move1.span.end + dma.complete_store;
    EXPECT_EQ(move0.span.done, std::max(sent0, sent1 + ns(50)) + ns(10));
    EXPECT_EQ(move1.span.done, std::max(sent1, sent0 + ns(50)) + ns(10));
    EXPECT_EQ(move0.bytes, 128 * 2048);
    // Vector goes on, but what reads the tile waits.
    EXPECT_EQ(events[0][2].span.start, ns(0));
    EXPECT_EQ(events[0][3].span.start, move0.span.done);
    EXPECT_EQ(events[1][first + 3].span.start, move1.span.done);
    EXPECT_EQ(bench.timing.dma_transfers, 2);
    EXPECT_EQ(bench.timing.dma_bytes, 2 * 128 * 2048);
    EXPECT_EQ(bench.timing.cores[0].waiting, arrived + ns(60));
  }
}

TEST(Peer, ExchangeByGpSimdHoldsGpSimdOfBothCores) {
  for (const int64_t late : {1, 50, 51, 300}) {
    Bench bench;
    View source[2];
    for (const int core : {0, 1}) {
      bench.builder.core(core, [&] {
        source[core] = bench.t[core].slice(0, 0, 8).slice(1, 0, 100);
        const View target = bench.u[core].slice(0, 0, 8).slice(1, 0, 100);
        if (core == 1) bench.builder.emit(Memset{bench.t[1].slice(1, 200, late), 0, kGpSimd});
        bench.builder.emit(exchange_of(core, target, source[core], 0, DmaEngine::kGpSimdDma));
        bench.builder.emit(Memset{source[core], 0, kGpSimd});
      });
    }
    const auto events = bench.run();
    // 8 * 100 * 4 bytes at 4 bytes/ns and the fixed 200 ns, after the later core's signal.
    const Picoseconds done = ns(late + 50 + 200 + 800);
    EXPECT_EQ(events[0][0].unit, Unit::kGpSimdDma);
    EXPECT_EQ(events[0][0].span.start, ns(0));
    EXPECT_EQ(events[1][1].span.start, ns(late));
    EXPECT_EQ(events[0][0].span.end, done) << late;
    EXPECT_EQ(events[1][1].span.end, done) << late;
    EXPECT_EQ(events[0][1].span.start, done);
    EXPECT_EQ(events[1][2].span.start, done);
    EXPECT_EQ(bench.timing.cores[0].waiting, ns(late + 50));
    EXPECT_EQ(bench.timing.cores[1].waiting, ns(50));
    EXPECT_EQ(bench.timing.dma_transfers, 0);
  }
}

TEST(Peer, BothCoresShareHbmAndEachHasItsOwnSbuf) {
  Architecture a = round_numbers();
  a.dma = {};
  a.dma.engines = 1;
  a.dma.bytes_per_nanosecond = a.dma.bytes_per_nanosecond_store = 1;
  a.dma.hbm_bytes_per_nanosecond = 1;
  const auto body = [&](std::vector<int> cores, bool in_hbm) {
    Builder builder("copies", a);
    const View in = builder.argument("in", {2, 128, 1}, Dtype::kFloat32);
    for (const int core : cores) {
      builder.core(core, [&] {
        const View from = builder.sbuf("from", {128, 1}, Dtype::kFloat32);
        const View to = builder.sbuf("to", {128, 1}, Dtype::kFloat32);
        builder.emit(DmaCopy{.dst = to, .src = in_hbm ? in.select(0, core) : from});
      });
    }
    return simulate(*builder.finish()).body;
  };
  EXPECT_EQ(body({0, 1}, true) - body({0}, true), ns(512));  // 512 bytes at half the rate
  EXPECT_EQ(body({0, 1}, false), body({0}, false));
}

TEST(Peer, GivesFiguresPerCoreAndOfBoth) {
  Bench bench;
  bench.work(0, kVector, 300, bench.t[0]);
  bench.work(1, kVector, 100, bench.t[1]);
  bench.work(1, kGpSimd, 50, bench.u[1]);
  bench.run();
  const Timing& timing = bench.timing;
  ASSERT_EQ(timing.cores.size(), 2U);
  EXPECT_EQ(timing.body, ns(400));
  EXPECT_EQ(timing.cores[0].end, ns(400));
  EXPECT_EQ(timing.cores[1].end, ns(200));
  EXPECT_EQ(timing.instances, 3);
  EXPECT_EQ(timing.busy[1], ns(400));
  EXPECT_EQ(timing.cores[1].busy[1], ns(100));
  EXPECT_EQ(timing.cores[1].instructions[3], 1);
  EXPECT_EQ(timing.utilisation(kVector), 400.0 / (2 * 400));
  EXPECT_EQ(timing.dma_engines, 32);
}

}  // namespace
}  // namespace neuron_sim
