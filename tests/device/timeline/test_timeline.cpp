// Tight edges of the timeline, with doctored copies of an architecture: round numbers instead of
// measured ones, so that every time can be given by hand.

#include "device/timeline/timeline.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

/// 1 GHz everywhere, one cycle per element, no waits, no gating; a multiply takes its columns.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.features.clock_gating = false;
  a.features.fast_mode_ports = false;
  a.clocks = {{1}, {0.5}, {1}, {1}, {1}, {1}};
  a.tensor.minimum_columns = 10;
  a.tensor.columns_init = 0;
  a.tensor.load_cycles_16bit = 128;  // one cycle per column
  a.tensor.load_cycles_fp32 = 512;
  a.tensor.fp32_pairs = 1;
  a.tensor.issue_overhead = a.tensor.load_issue = a.tensor.load_advance = ns(0);
  a.tensor.multiply_issue = a.tensor.multiply_issue_event = a.tensor.load_queue = ns(0);
  a.tensor.load_latency = ns(0);
  a.tensor.load_latency_cycles = 0;
  a.tensor.drain = ns(50);
  a.tensor.drain_cycles = 0;
  for (EngineTiming* engine : {&a.vector, &a.scalar, &a.gpsimd, &a.sync}) {
    *engine = {};
    engine->minimum_cycles = 1;
    engine->latency = ns(100);
    engine->stride_factor = 1;
  }
  a.rates = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  a.semaphore = {};
  return a;
}

struct Recorder : TimelineObserver {
  void step(const Program&, const StepEvent& event) override { events.push_back(event); }
  std::vector<StepEvent> events;
};

/// A kernel with two rows of tiles to work on.
class Bench {
 public:
  explicit Bench(Architecture architecture)
      : architecture_(std::move(architecture)), builder("bench", architecture_) {}

  View tile(const std::string& label = "t", Dtype dtype = Dtype::kBfloat16) {
    return builder.sbuf(label, {128, 512}, dtype);
  }
  std::vector<StepEvent> run(bool warm = false) {
    Recorder recorder;
    TimelineOptions options{.starts_warm = warm, .observer = &recorder};
    program = builder.finish();
    timing = simulate(*program, {}, options);
    return recorder.events;
  }

 private:
  Architecture architecture_;

 public:
  Builder builder;
  std::shared_ptr<const Program> program;
  Timing timing;
};

constexpr EngineKind kVector = EngineKind::kVector, kGpSimd = EngineKind::kGpSimd;

TEST(Timeline, SeparatesIssueIntervalFromLatency) {
  Architecture a = round_numbers();
  a.vector.overhead_sbuf = 7;
  Bench bench(a);
  const View t = bench.tile(), u = bench.tile();
  bench.builder.emit(Memset{t, 0, kVector});
  bench.builder.emit(Memset{u, 0, kVector});
  const auto events = bench.run();
  EXPECT_EQ(events[0].span.end, ns(519));
  EXPECT_EQ(events[0].span.done, ns(612));
  EXPECT_EQ(events[1].span.start, ns(519));
  EXPECT_EQ(bench.timing.body, ns(519 + 612));
}

TEST(Timeline, WaitsForAnotherEngineUntilTheWakeUpAndNotLonger) {
  for (const int64_t busy : {636, 637, 638}) {
    Architecture a = round_numbers();
    a.semaphore.wake[1][3] = ns(25);  // Vector to GpSimd
    Bench bench(a);
    const View t = bench.tile(), u = bench.tile(),
               w = bench.builder.sbuf("w", {1, 700}, Dtype::kFloat32);
    bench.builder.emit(Memset{t, 0, kVector});  // visible at 612
    bench.builder.emit(Memset{w.slice(1, 0, busy), 0, kGpSimd});
    bench.builder.emit(TensorCopy{u, t, kGpSimd});
    EXPECT_EQ(bench.run()[2].span.start, ns(std::max<int64_t>(637, busy))) << busy;
  }
}

TEST(Timeline, WaitsOnOneEngineOnlyForReadsAfterWrites) {
  Architecture a = round_numbers();
  a.semaphore.same_engine = ns(5);
  Bench bench(a);
  const View t = bench.tile(), u = bench.tile();
  bench.builder.emit(Memset{t, 0, kVector});
  bench.builder.emit(Memset{t, 1, kVector});
  bench.builder.emit(TensorCopy{u, t, kVector});
  bench.builder.emit(Memset{t, 1, kVector});
  const auto events = bench.run();
  EXPECT_EQ(events[1].span.start, ns(512));
  EXPECT_EQ(events[2].span.start, ns(512 + 612 + 5));
  EXPECT_EQ(events[3].span.start, events[2].span.end);
}

TEST(Timeline, ChargesASecondSemaphoreOnceAndAKnownValueNever) {
  Architecture a = round_numbers();
  a.semaphore.extra_wait[1] = ns(40);
  a.semaphore.extra_wait_shown[1] = ns(15);
  Bench bench(a);
  const View t = bench.tile(), u = bench.tile(), v = bench.tile(), w = bench.tile();
  bench.builder.emit(Memset{t, 0, kGpSimd});          // visible at 612
  bench.builder.emit(Activate{.dst = u, .data = u});  // Scalar, visible at 612
  bench.builder.emit(TensorTensor{v, t, u, AluOp::kAdd, kVector});
  bench.builder.emit(TensorTensor{w, t, u, AluOp::kAdd, kVector});
  const auto events = bench.run();
  // GpSimd's semaphore by an instruction of its own, then Scalar's by the addition itself.
  EXPECT_EQ(events[2].kind, EventKind::kWait);
  EXPECT_EQ(events[2].span.start, ns(612));
  EXPECT_EQ(events[2].span.done, ns(612 + 15));
  EXPECT_EQ(events[3].span.start, ns(612 + 40));
  EXPECT_EQ(events[4].span.start, events[3].span.end);
  EXPECT_EQ(events[4].kind, EventKind::kStep);
}

TEST(Timeline, LetsEnginesThatShareNoTileOverlap) {
  Bench bench(round_numbers());
  bench.builder.emit(Memset{bench.tile(), 0, kVector});
  bench.builder.emit(Memset{bench.tile(), 0, kGpSimd});
  bench.run();
  EXPECT_EQ(bench.timing.body, ns(612));
  EXPECT_EQ(bench.timing.utilisation(kVector), 512.0 / 612);
}

TEST(Timeline, LoadsAnActivationTableWhenTheFunctionChangesAndWaitsForNoDataToDoSo) {
  for (const int64_t load : {511, 512, 513, 2000}) {
    Architecture a = round_numbers();
    a.scalar.table_load = ns(load);
    Bench bench(a);
    const View t = bench.tile();
    bench.builder.emit(Memset{t, 0, kVector});  // visible at 612
    for (const Activation op : {Activation::kExp, Activation::kExp, Activation::kTanh}) {
      bench.builder.emit(Activate{.dst = bench.tile(), .data = t, .op = op});
    }
    const auto events = bench.run();
    ASSERT_EQ(events.size(), 6u);
    EXPECT_EQ(events[1].kind, EventKind::kTableLoad);
    EXPECT_EQ(events[1].span.start, ns(0));
    EXPECT_EQ(events[1].span.done, ns(load));
    EXPECT_EQ(events[2].span.start, ns(std::max<int64_t>(612, load)));
    EXPECT_EQ(events[3].span.start, events[2].span.end);
    EXPECT_EQ(events[4].kind, EventKind::kTableLoad);
    EXPECT_EQ(events[4].span.start, events[3].span.end);
    EXPECT_EQ(events[5].span.start, events[4].span.end);
  }
}

TEST(Timeline, LoadsOneTableForExponentialsAndLogarithms) {
  Architecture a = round_numbers();
  a.scalar.table_load = ns(1000);
  Bench bench(a);
  const View t = bench.tile();
  for (const Activation op :
       {Activation::kExp, Activation::kLog, Activation::kExp, Activation::kGelu}) {
    bench.builder.emit(Activate{.dst = bench.tile(), .data = t, .op = op});
  }
  const auto events = bench.run();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const StepEvent& e) { return e.kind == EventKind::kTableLoad; }),
            2);
}

/// Steps of products with `columns` columns each; stationary tiles alternate when `alternate`.
std::vector<StepEvent> products(Bench& bench, int count, int64_t columns, bool alternate,
                                Dtype dtype = Dtype::kBfloat16, bool warm = false) {
  const View weights[] = {bench.tile("w", dtype), bench.tile("w", dtype)};
  const View moving = bench.tile("m", dtype), sum = bench.builder.psum("sum", {128, 512});
  for (int i = 0; i < count; ++i) {
    bench.builder.emit(NcMatmul{.dst = sum.slice(1, 0, columns),
                                .stationary = weights[alternate ? i % 2 : 0].slice(1, 0, 128),
                                .moving = moving.slice(1, 0, columns),
                                .accumulate = i > 0});
  }
  return bench.run(warm);
}

TEST(Timeline, HidesTheWeightLoadBehindTheMultiply) {
  Bench bench(round_numbers());
  const auto events = products(bench, 3, 200, true);  // load, multiply, ...
  EXPECT_EQ(events[1].span.start, ns(0));             // issued, but waits for its weights
  EXPECT_EQ(events[2].span.start, ns(128));           // while the first multiply streams
  EXPECT_EQ(events[3].span.start, ns(328));
  EXPECT_EQ(events[5].span.end, ns(728));
  EXPECT_EQ(events[5].span.done, ns(778));
}

TEST(Timeline, ExposesTheWeightLoadWhereItCannotHide) {
  Architecture a = round_numbers();
  a.features.hidden_weight_load = false;
  Bench exposed(a), bound(round_numbers());
  EXPECT_EQ(products(exposed, 3, 200, true)[5].span.end, ns(3 * 328));
  // A multiply shorter than a load waits for its weights.
  EXPECT_EQ(products(bound, 3, 100, true)[5].span.end, ns(3 * 128 + 100));
}

TEST(Timeline, LoadsWeightsOnceWhileNobodyOverwritesThem) {
  Bench bench(round_numbers());
  EXPECT_EQ(products(bench, 3, 200, false).size(), 4u);
  EXPECT_EQ(bench.timing.body, ns(128 + 600 + 50));
  EXPECT_EQ(bench.timing.multiply_accumulates, 3 * 128 * 128 * 200);

  Bench written(round_numbers());
  const View weights = written.tile(), sum = written.builder.psum("sum", {128, 512});
  for (int i = 0; i < 2; ++i) {
    written.builder.emit(NcMatmul{sum, weights.slice(1, 0, 128), weights});
    written.builder.emit(Memset{weights, 0, kGpSimd});
  }
  const auto events = written.run();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const StepEvent& e) { return e.unit == Unit::kLoadStationary; }),
            2);
}

TEST(Timeline, TakesFourPassesForFp32AndTheMinimumForNarrowProducts) {
  Bench wide(round_numbers()), narrow(round_numbers());
  const auto fp32 = products(wide, 1, 200, false, Dtype::kFloat32);
  EXPECT_EQ(fp32[0].span.end, ns(512));
  EXPECT_EQ(fp32[1].span.end, ns(512 + 800));
  const auto columns = products(narrow, 1, 9, false);
  EXPECT_EQ(columns[1].span.end, ns(128 + 10));
}

Architecture gated() {
  Architecture a = round_numbers();
  a.features.clock_gating = true;
  a.tensor.gate_window = ns(1000);
  a.tensor.gate_up = 0.8;
  a.tensor.gate_down = 0.3;
  a.tensor.load_cycles_16bit = 0;
  return a;
}

TEST(Timeline, WarmsTheClockAtTheEndOfABusyWindow) {
  Bench bench(gated());
  const auto events = products(bench, 4, 300, false);
  // Cold: 300 columns take 600 ns. The second straddles the boundary at 1000 ns: 200 of its
  // columns are left and run warm.
  const size_t first = events.size() - 4;
  EXPECT_EQ(events[first].span.end, ns(600));
  EXPECT_EQ(events[first + 1].span.end, ns(1100));
  EXPECT_EQ(events[first + 2].span.end, ns(1400));
}

TEST(Timeline, WarmsAtTheGateAndNotBelow) {
  for (const int64_t columns : {399, 400}) {  // 798 and 800 ns of the cold window
    Bench bench(gated());
    const View t = bench.tile(), sum = bench.builder.psum("s", {128, 512}, Dtype::kFloat32, 2);
    bench.builder.emit(
        NcMatmul{sum.slice(1, 0, columns), t.slice(1, 0, 128), t.slice(1, 0, columns)});
    bench.builder.emit(Memset{t, 0, kVector});  // from 848 or 850 on: the next starts after 1000
    bench.builder.emit(
        NcMatmul{sum.turn(1).slice(1, 0, 100), t.slice(1, 0, 128), t.slice(1, 0, 100)});
    const StepEvent last = bench.run().back();
    EXPECT_EQ(last.span.end - last.span.start, ns(columns == 400 ? 100 : 200)) << columns;
  }
}

TEST(Timeline, CoolsTheClockAfterAnIdleWindowOnly) {
  for (const int64_t columns : {299, 300}) {
    Bench bench(gated());
    const View t = bench.tile(), sum = bench.builder.psum("s", {128, 512}, Dtype::kFloat32, 2);
    bench.builder.emit(
        NcMatmul{sum.slice(1, 0, columns), t.slice(1, 0, 128), t.slice(1, 0, columns)});
    bench.builder.emit(Memset{t.slice(1, 0, 350), 0, kVector});
    bench.builder.emit(Memset{t.slice(1, 350, 162), 0, kVector});
    bench.builder.emit(Memset{t, 0, kVector});  // ends later than 1000 and earlier than 2000
    bench.builder.emit(
        NcMatmul{sum.turn(1).slice(1, 0, 100), t.slice(1, 0, 128), t.slice(1, 0, 100)});
    const StepEvent last = bench.run(true).back();
    ASSERT_GT(last.span.start, ns(1000));
    ASSERT_LT(last.span.end, ns(2000));
    EXPECT_EQ(last.span.end - last.span.start, ns(columns == 300 ? 100 : 200)) << columns;
  }
}

TEST(Timeline, TellsTheNotionsOfLatencyApart) {
  Architecture a = round_numbers();
  a.launch.benchmark = ns(3000);
  a.launch.profile = ns(5000);
  Bench bench(a);
  bench.builder.emit(Memset{bench.tile(), 0, kVector});
  bench.run();
  EXPECT_EQ(bench.timing.benchmark(a), ns(3612));
  EXPECT_EQ(bench.timing.profile(a), ns(5612));
  a.launch.second_core = ns(700);  // this program has one
  EXPECT_EQ(bench.timing.first_profile(a), ns(5612));
  Timing two = bench.timing;
  two.add_core(bench.timing);
  EXPECT_EQ(two.first_profile(a), ns(6312));
  EXPECT_EQ(two.profile(a), ns(5612));
  EXPECT_EQ(bench.timing.bottleneck(), "Vector");
  a.launch.benchmark_software = ns(40);  // nothing here has GpSimd generate descriptors
  EXPECT_EQ(bench.timing.benchmark(a), ns(3612));
  Timing generated;
  generated.software_descriptors = true;
  EXPECT_EQ(generated.benchmark(a), ns(3040));
  EXPECT_EQ(generated.profile(a), ns(5000));
  EXPECT_EQ(Timing{}.bottleneck(), "latency");
  EXPECT_EQ(Timing{}.utilisation(kVector), 0);
}

}  // namespace
}  // namespace neuron_sim
