// Options of the timeline: the phase of the PE clock's windows, and parameters of another
// architecture.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

/// 1 GHz warm, half of it cold, windows of 1000 ns.
Architecture gated() {
  Architecture a = load_architecture("trn2");
  a.clocks.tensor = {1};
  a.clocks.tensor_cold = {0.5};
  a.tensor.gate_window = ns(1000);
  a.tensor.gate_up = 0.5;
  a.tensor.gate_down = 0.1;
  return a;
}

TEST(ClockPhase, MovesTheBoundaryThatWarmsTheClock) {
  const Architecture architecture = gated();
  for (const int64_t phase : {0, 300, 600, 998, 1000, 1600, -400}) {
    PeClock clock(architecture, false, ns(phase));
    // Busy from the start: cold to the first boundary with 500 busy nanoseconds after it.
    const int64_t first = (phase % 1000 + 1000) % 1000;
    const int64_t boundary = first >= 500 ? first : first + 1000;
    EXPECT_EQ(clock.run(ns(0), clock.time_of(2000), 128), ns(boundary) + ns(2000 - boundary / 2))
        << phase;
    EXPECT_TRUE(clock.warm(ns(boundary))) << phase;
  }
}

TEST(ClockPhase, AWindowBusyForLessThanTheShareStaysCold) {
  const Architecture architecture = gated();
  PeClock below(architecture, false, ns(700)), at(architecture, false, ns(700));
  below.mark_busy(ns(0), ns(499));
  at.mark_busy(ns(0), ns(500));
  EXPECT_FALSE(below.warm(ns(700)));
  EXPECT_FALSE(at.warm(ns(699)));
  EXPECT_TRUE(at.warm(ns(700)));
}

/// The vendor's profiler documents that the clock falls back below about half of a window, of Trn2
/// and Trn3; a window of the traces that counts as busy for 0.43 kept it.
TEST(ClockGate, IsLostInAWindowThatIsBusyForAThirdButNotForNearlyHalf) {
  for (const char* name : {"trn2", "trn3"}) {
    const Architecture& architecture = load_architecture(name);
    const Picoseconds window = architecture.tensor.gate_window;
    for (const int64_t percent : {33, 41, 43, 50}) {
      PeClock clock(architecture, true);
      clock.mark_busy(ns(0), {window.count * percent / 100});
      EXPECT_EQ(clock.warm(window), percent > 42) << name << ' ' << percent;
    }
  }
}

TEST(ClockGate, CountsTimeByTheRowsThatCompute) {
  const Architecture architecture = gated();  // up at half of a window
  for (const int64_t rows : {0, 1, 63, 64, 65, 128}) {
    PeClock clock(architecture, false);
    clock.run(ns(0), clock.time_of(500), rows);  // all of the first window
    EXPECT_EQ(clock.warm(ns(1000)), rows >= 64) << rows;
  }
}

TEST(ClockGate, RunsTheRestOfWorkOfFewRowsAtTheNewClock) {
  const Architecture architecture = gated();  // down below a tenth of a window: 100 of 1,500 cycles
  for (const int64_t rows : {8, 9}) {
    PeClock clock(architecture, true);
    EXPECT_EQ(clock.run(ns(0), clock.time_of(1500), rows), ns(rows == 8 ? 2000 : 1500)) << rows;
    EXPECT_EQ(clock.warm(ns(1500)), rows == 9) << rows;
  }
}

/// A loop of matmuls on round tiles of that many rows.
std::shared_ptr<const Program> matmuls(const Architecture& architecture, int64_t trips,
                                       int64_t rows = 128) {
  Builder builder("matmuls", architecture);
  const View weights = builder.sbuf("weights", {rows, 128}, Dtype::kBfloat16);
  const View moving = builder.sbuf("moving", {rows, 512}, Dtype::kBfloat16);
  const View sum = builder.psum("sum", {128, 512}, Dtype::kFloat32);
  builder.loop(trips, [&](const Affine&) {
    builder.emit(NcMatmul{.dst = sum, .stationary = weights, .moving = moving});
  });
  return builder.finish();
}

TEST(ClockPhase, SkippingIsExactAtAnyPhase) {
  for (const int64_t rows : {1, 33, 64, 128}) {
    const auto program = matmuls(load_architecture("trn2"), 500, rows);
    for (const int64_t phase : {0, 1, 1700, 3413}) {
      TimelineOptions options{.clock_phase = ns(phase)};
      const Timing skipped = simulate(*program, {}, options);
      options.skip_steady_loops = false;
      EXPECT_GT(skipped.skipped_instances, 0) << phase << ' ' << rows;
      EXPECT_EQ(skipped.body, simulate(*program, {}, options).body) << phase << ' ' << rows;
    }
  }
}

/// NKIBench's mamba broadcasts rows by products of one row, which a profile shows busy for 512
/// columns at 1.2 GHz each, without a pause.
TEST(ClockGate, ProductsOfHalfTheRowsNeverWarmTheArray) {
  const Architecture& trn2 = load_architecture("trn2");
  const auto interval = [&](int64_t rows) {
    const Picoseconds more = simulate(*matmuls(trn2, 400, rows)).body;
    return (more - simulate(*matmuls(trn2, 300, rows)).body).count / 100;
  };
  const int64_t cold = trn2.clocks.tensor_cold.duration(512).count;
  for (const int64_t rows : {1, 64}) EXPECT_NEAR(interval(rows), cold, cold / 100) << rows;
  EXPECT_NEAR(interval(128), cold / 2, cold / 50);
}

TEST(OtherArchitecture, TimesTheSameInstructionsOnItsParameters) {
  const Architecture& own = load_architecture("trn2");
  Architecture other = own;
  other.clocks.tensor = {own.clocks.tensor.value / 2};
  other.clocks.tensor_cold = {own.clocks.tensor_cold.value / 2};
  const auto program = matmuls(own, 100);
  const auto rebuilt = matmuls(other, 100);
  TimelineOptions options{.architecture = &other};
  EXPECT_EQ(simulate(*program, {}, options).body, simulate(*rebuilt).body);
  EXPECT_GT(simulate(*program, {}, options).body, simulate(*program).body);
  options.architecture = &own;
  EXPECT_EQ(simulate(*program, {}, options).body, simulate(*program).body);
}

}  // namespace
}  // namespace neuron_sim
