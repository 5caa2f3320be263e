#include <gtest/gtest.h>

#include "device/timeline/engines/dma_engines.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

/// 1 byte per ns and engine, 10 ns per packet, 25 ns for loaded rows of fewer than 64 bytes.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.dma = {};
  a.dma.engines = 16;
  a.dma.bytes_per_nanosecond = a.dma.bytes_per_nanosecond_store = 1;
  a.dma.packet = a.dma.packet_store = ns(10);
  a.dma.hbm_bytes_per_nanosecond = 1000;
  a.dma.small_row = 64;
  a.dma.small_row_packet = ns(25);
  return a;
}

Step row(int64_t bytes, bool store = false) {
  return {.unit = Unit::kDma, .store = store, .elements = 16, .bytes = bytes, .fragments = 1};
}

Picoseconds length(const Architecture& architecture, const Step& step) {
  DmaEngines dma(architecture);
  const Span span = dma.transfer(step, EngineKind::kSync, ns(0), ns(0));
  return span.end - span.start;
}

TEST(LoadedRows, BelowABoundTakeALeastTime) {
  Architecture a = round_numbers();
  EXPECT_EQ(length(a, row(64)), ns(10 + 64));
  EXPECT_EQ(length(a, row(63)), ns(25 + 63));
  EXPECT_EQ(length(a, row(63, true)), ns(10 + 63));
  Step pieces = row(64);
  pieces.fragments = 2;  // of 32 bytes
  EXPECT_EQ(length(a, pieces), ns(2 * 25 + 64));
  a.dma.small_row_packet = ns(5);  // never less than a packet takes
  EXPECT_EQ(length(a, row(63)), ns(10 + 63));
}

TEST(LoadedRows, AreAsLongAsTheyAreInHbm) {
  const Architecture a = round_numbers();
  Step step = row(32);
  step.loaded_run = 63;
  EXPECT_EQ(length(a, step), ns(25 + 32));
  step.loaded_run = 64;
  EXPECT_EQ(length(a, step), ns(10 + 32));
}

}  // namespace
}  // namespace neuron_sim
