// Figures of a run: sums over its cores, shares of engines, and what limits it.

#include "device/timeline/timing.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

constexpr size_t kTensor = static_cast<size_t>(EngineKind::kTensor);
constexpr size_t kSync = static_cast<size_t>(EngineKind::kSync);

/// A core that ran for `body`, with figures that are multiples of `unit`.
Timing core_of(int64_t body, int64_t unit) {
  Timing timing;
  timing.body = {body};
  for (size_t i = 0; i < kEngineCount; ++i) {
    timing.busy[i] = {unit * static_cast<int64_t>(i + 1)};
    timing.instructions[i] = unit * static_cast<int64_t>(10 * (i + 1));
  }
  timing.dma_busy = {unit * 6};
  timing.dma_engines = 16;
  timing.dma_transfers = unit * 7;
  timing.dma_bytes = unit * 8;
  timing.instances = unit * 9;
  timing.skipped_instances = unit * 10;
  timing.widened_accesses = unit * 11;
  timing.multiply_accumulates = unit * 12;
  timing.cores.push_back({.end = {body}});
  return timing;
}

TEST(Timing, OfTwoCoresIsTheirSumAndTheLongerBody) {
  for (const int64_t second : {50, 100, 150}) {
    Timing both = core_of(100, 1);
    both.add_core(core_of(second, 1000));
    EXPECT_EQ(both.body.count, std::max<int64_t>(100, second));
    for (size_t i = 0; i < kEngineCount; ++i) {
      EXPECT_EQ(both.busy[i].count, 1001 * static_cast<int64_t>(i + 1));
      EXPECT_EQ(both.instructions[i], 10010 * static_cast<int64_t>(i + 1));
    }
    EXPECT_EQ(both.dma_busy.count, 6006);
    EXPECT_EQ(both.dma_engines, 32);
    EXPECT_EQ(both.dma_transfers, 7007);
    EXPECT_EQ(both.dma_bytes, 8008);
    EXPECT_EQ(both.instances, 9009);
    EXPECT_EQ(both.skipped_instances, 10010);
    EXPECT_EQ(both.widened_accesses, 11011);
    EXPECT_EQ(both.multiply_accumulates, 12012);
    ASSERT_EQ(both.cores.size(), 2U);
    EXPECT_EQ(both.cores[0].end.count, 100);
    EXPECT_EQ(both.cores[1].end.count, second);
  }
}

TEST(Timing, SharesAreOfTheBodyAndOfAllCores) {
  Timing timing;
  timing.body = {100};
  timing.busy[kTensor] = {40};
  timing.dma_busy = {320};
  timing.dma_engines = 16;
  EXPECT_EQ(timing.utilisation(EngineKind::kTensor), 0.4);  // no core is listed: there is one
  EXPECT_EQ(timing.dma_utilisation(), 0.2);
  timing.cores.resize(1);
  EXPECT_EQ(timing.utilisation(EngineKind::kTensor), 0.4);
  timing.cores.resize(2);
  EXPECT_EQ(timing.utilisation(EngineKind::kTensor), 0.2);
  EXPECT_EQ(timing.dma_utilisation(), 0.2);
}

TEST(Timing, SharesOfNothingAreZero) {
  Timing timing;
  EXPECT_EQ(timing.utilisation(EngineKind::kTensor), 0);
  EXPECT_EQ(timing.dma_utilisation(), 0);
  timing.body = {100};
  EXPECT_EQ(timing.dma_utilisation(), 0);  // without DMA engines
  timing.body = {0};
  timing.dma_engines = 16;
  EXPECT_EQ(timing.dma_utilisation(), 0);
  EXPECT_EQ(timing.bottleneck(), "latency");
}

TEST(Timing, BottleneckIsTheBusiestUnitFromHalfOfTheTimeOn) {
  Timing timing;
  timing.body = {100};
  timing.dma_engines = 1;
  timing.busy[kTensor] = {49};
  timing.dma_busy = {49};
  EXPECT_EQ(timing.bottleneck(), "latency");
  timing.dma_busy = {50};
  EXPECT_EQ(timing.bottleneck(), "DMA");
  timing.busy[kTensor] = {51};
  EXPECT_EQ(timing.bottleneck(), "Tensor");
  timing.busy[kSync] = {52};
  EXPECT_EQ(timing.bottleneck(), "Sync");
  timing.dma_busy = {52};
  EXPECT_EQ(timing.bottleneck(), "DMA");
}

}  // namespace
}  // namespace neuron_sim
