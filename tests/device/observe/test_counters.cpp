#include "device/observe/counters.h"

#include <gtest/gtest.h>

#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

Recording random_recording(const Program& program) { return record(program); }

const Counter& counter(const std::vector<Counter>& counters, const std::string& name) {
  return *std::ranges::find_if(counters, [&](const Counter& each) { return each.name == name; });
}

/// The integral of a step function, value times nanoseconds.
double integral(const Counter& counter) {
  double sum = 0;
  for (size_t i = 0; i + 1 < counter.samples.size(); ++i) {
    const Picoseconds time = counter.samples[i + 1].time - counter.samples[i].time;
    sum += counter.samples[i].value * time.nanoseconds();
  }
  return sum;
}

TEST(Counters, TheThroughputOfTheDmaIntegratesToItsBytes) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {}).build();
    const Recording recording = random_recording(*program);
    const auto bytes = static_cast<double>(recording.timing.dma_bytes);
    const double moved = integral(counter(counters_over_time(recording), "DMA throughput"));
    EXPECT_NEAR(moved, bytes, 1e-6 * bytes);
  }
}

TEST(Counters, RiseFromNothingAndEndWithNothing) {
  const auto program = RandomProgram(4, load_architecture("trn2"), {}).build();
  for (const Counter& each : counters_over_time(random_recording(*program))) {
    ASSERT_FALSE(each.samples.empty()) << each.name;
    EXPECT_EQ(each.samples.back().value, 0) << each.name;
    for (size_t i = 0; i < each.samples.size(); ++i) {
      EXPECT_GE(each.samples[i].value, i + 1 == each.samples.size() ? 0 : -1e-9);
      if (i > 0) {
        EXPECT_GT(each.samples[i].time, each.samples[i - 1].time);
      }
    }
  }
}

TEST(Counters, ShowTransfersThatPendAndTilesThatLive) {
  Builder builder("loads", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 1024}, Dtype::kFloat32);
  for (int i = 0; i < 3; ++i) {
    const View tile = builder.sbuf(text("tile", i), {128, 1024}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = tile, .src = source});
  }
  const auto program = builder.finish();
  const auto counters = counters_over_time(random_recording(*program));
  const auto most = [&](const std::string& name) {
    return std::ranges::max(counter(counters, name).samples, {}, &CounterSample::value).value;
  };
  EXPECT_EQ(most("pending DMA"), 3);
  EXPECT_EQ(most("SBUF") / (128 * 1024 * 4), 2);  // at the same time; the third begins later
  EXPECT_TRUE(counter(counters, "PSUM").samples.empty());
}

}  // namespace
}  // namespace neuron_sim
