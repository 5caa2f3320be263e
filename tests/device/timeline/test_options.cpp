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
    EXPECT_EQ(clock.run(ns(0), clock.time_of(2000)), ns(boundary) + ns(2000 - boundary / 2))
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

/// A loop of matmuls on round tiles.
std::shared_ptr<const Program> matmuls(const Architecture& architecture, int64_t trips) {
  Builder builder("matmuls", architecture);
  const View weights = builder.sbuf("weights", {128, 128}, Dtype::kBfloat16);
  const View moving = builder.sbuf("moving", {128, 512}, Dtype::kBfloat16);
  const View sum = builder.psum("sum", {128, 512}, Dtype::kFloat32);
  builder.loop(trips, [&](const Affine&) {
    builder.emit(NcMatmul{.dst = sum, .stationary = weights, .moving = moving});
  });
  return builder.finish();
}

TEST(ClockPhase, SkippingIsExactAtAnyPhase) {
  const auto program = matmuls(load_architecture("trn2"), 500);
  for (const int64_t phase : {0, 1, 1700, 3413}) {
    TimelineOptions options{.clock_phase = ns(phase)};
    const Timing skipped = simulate(*program, {}, options);
    options.skip_steady_loops = false;
    EXPECT_GT(skipped.skipped_instances, 0) << phase;
    EXPECT_EQ(skipped.body, simulate(*program, {}, options).body) << phase;
  }
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
