#include "device/timeline/engines/dma_engines.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

/// 1 byte per ns and engine, 10 ns per packet; every latency has another value.
Architecture round_numbers() {
  Architecture a = load_architecture("trn2");
  a.dma = {};
  a.dma.engines = 16;
  a.dma.bytes_per_nanosecond = a.dma.bytes_per_nanosecond_store = 1;
  a.dma.packet = a.dma.packet_store = ns(10);
  a.dma.hbm_bytes_per_nanosecond = 1000;
  a.dma.load_stall_maximum = ns(1000000);
  a.dma.software_packet = 256;
  a.dma.hardware_trigger = ns(50);
  a.dma.hardware_trigger_element = ns(1);
  a.dma.hardware_first_load = ns(1000);
  a.dma.hardware_first_store = ns(1100);
  a.dma.software_trigger = ns(70);
  a.dma.software_trigger_element = ns(2);
  a.dma.software_first_load = ns(400);
  a.dma.software_first_store = ns(440);
  a.dma.static_trigger = ns(30);
  a.dma.static_first_load = ns(900);
  a.dma.static_first_store = ns(990);
  a.dma.complete_load = ns(200);
  a.dma.complete_store = ns(300);
  return a;
}

Step copy(DescriptorKind kind, int64_t rows, int64_t bytes, bool store = false) {
  Step step;
  step.unit = Unit::kDma;
  step.descriptors = kind;
  step.elements = rows;
  step.bytes = bytes;
  step.fragments = 1;
  step.store = store;
  return step;
}

constexpr DescriptorKind kHardware = DescriptorKind::kHardware;
constexpr DescriptorKind kSoftware = DescriptorKind::kSoftware;
constexpr DescriptorKind kStatic = DescriptorKind::kStatic;
constexpr EngineKind kSync = EngineKind::kSync;

TEST(DmaEngines, BlocksTheIssuerByKindAndDescriptors) {
  const Architecture a = round_numbers();
  const DmaEngines dma(a);
  EXPECT_EQ(dma.trigger(copy(kStatic, 500, 1)), ns(30));
  EXPECT_EQ(dma.trigger(copy(kHardware, 1, 1)), ns(51));
  EXPECT_EQ(dma.trigger(copy(kHardware, 128, 1)), ns(178));
  EXPECT_EQ(dma.trigger(copy(kHardware, 129, 1)), ns(178));
  EXPECT_EQ(dma.trigger(copy(kSoftware, 200, 1)), ns(470));
}

TEST(DmaEngines, CountsTheFirstLatencyFromTheRightEndOfTheTrigger) {
  const Architecture a = round_numbers();
  const auto start = [&](DescriptorKind kind, bool store) {
    DmaEngines dma(a);
    return dma.transfer(copy(kind, 1, 100, store), kSync, ns(5), ns(105));
  };
  EXPECT_EQ(start(kHardware, false).start, ns(1005));
  EXPECT_EQ(start(kHardware, true).start, ns(1105));
  EXPECT_EQ(start(kStatic, false).start, ns(905));
  EXPECT_EQ(start(kStatic, true).start, ns(995));
  EXPECT_EQ(start(kSoftware, false).start, ns(505));
  EXPECT_EQ(start(kSoftware, true).start, ns(545));
  EXPECT_EQ(start(kStatic, false).done - start(kStatic, false).end, ns(200));
  EXPECT_EQ(start(kStatic, true).done - start(kStatic, true).end, ns(300));
}

TEST(DmaEngines, TransposesAtAShareOfThePeakAndComputesAtAShareOfTheThroughputOfACopy) {
  Architecture a = round_numbers();
  a.dma.transpose_hbm = 0.8;
  a.dma.transpose_sbuf = 0.5;
  a.dma.compute = 0.25;
  const auto length = [&](TransferClass transfer, int64_t padded_bytes) {
    DmaEngines dma(a);
    Step step = copy(kStatic, 16, 100);
    step.transfer = transfer;
    step.padded_bytes = padded_bytes;
    const Span span = dma.transfer(step, kSync, ns(0), ns(0));
    return span.end - span.start;
  };
  EXPECT_EQ(length(TransferClass::kCopy, 0), ns(110));
  EXPECT_EQ(length(TransferClass::kCopy, 190), ns(200));
  EXPECT_EQ(length(TransferClass::kTransposeHbm, 100), ns(125));
  EXPECT_EQ(length(TransferClass::kTransposeSbuf, 100), ns(200));
  EXPECT_EQ(length(TransferClass::kTransposeSbuf, 190), ns(380));
  EXPECT_EQ(length(TransferClass::kCompute, 0), ns(440));
}

TEST(DmaEngines, SpreadsDescriptorsOverSixteenEngines) {
  const Architecture a = round_numbers();
  const auto length = [&](int64_t rows) {
    DmaEngines dma(a);
    const Span span = dma.transfer(copy(kStatic, rows, 100), kSync, ns(0), ns(0));
    EXPECT_EQ(dma.busy(), ns(110 * rows));
    return span.end - span.start;
  };
  EXPECT_EQ(length(1), ns(110));
  EXPECT_EQ(length(16), ns(110));
  EXPECT_EQ(length(17), ns(220));
  EXPECT_EQ(length(128), ns(880));
}

TEST(DmaEngines, StartsTheEnginesOneAfterAnother) {
  Architecture a = round_numbers();
  a.dma.engine_skew = ns(3);
  DmaEngines dma(a);
  const Span span = dma.transfer(copy(kStatic, 16, 100), kSync, ns(0), ns(0));
  EXPECT_EQ(span.end - span.start, ns(110 + 15 * 3));
}

TEST(DmaEngines, PacksRowsOfSoftwareDescriptors) {
  const Architecture a = round_numbers();
  const auto length = [&](DescriptorKind kind, int64_t bytes) {
    DmaEngines dma(a);
    const Span span = dma.transfer(copy(kind, 64, bytes), kSync, ns(0), ns(0));
    return span.end - span.start;
  };
  EXPECT_EQ(length(kStatic, 64), ns(4 * 10 + 256));
  EXPECT_EQ(length(kSoftware, 64), ns(10 + 256));
  EXPECT_EQ(length(kSoftware, 65), ns(20 + 260));
}

TEST(DmaEngines, PaysForFragmentsAndScatteredElements) {
  Architecture a = round_numbers();
  Step step = copy(kStatic, 16, 40);
  step.fragments = 10;
  DmaEngines packets(a);
  Span span = packets.transfer(step, kSync, ns(0), ns(0));
  EXPECT_EQ(span.end - span.start, ns(100 + 40));
  a.dma.element_scatter = ns(1);  // 160 elements
  DmaEngines scattered(a);
  span = scattered.transfer(step, kSync, ns(0), ns(0));
  EXPECT_EQ(span.end - span.start, ns(160));
}

TEST(DmaEngines, ReadsAndChangesWordsThatAreWrittenInPart) {
  Architecture a = round_numbers();
  a.dma.element_scatter = ns(3);
  const auto length = [&](int64_t partial_words) {
    DmaEngines dma(a);
    Step step = copy(kStatic, 16, 4, true);
    step.partial_words = partial_words;
    const Span span = dma.transfer(step, kSync, ns(0), ns(0));
    return span.end - span.start;
  };
  EXPECT_EQ(length(0), ns(10 + 4));
  EXPECT_EQ(length(4), ns(10 + 4));  // 12 ns hide behind the packets
  EXPECT_EQ(length(5), ns(15));
}

TEST(DmaEngines, KeepsEachQueueInOrder) {
  const Architecture a = round_numbers();
  DmaEngines dma(a);
  const Span first = dma.transfer(copy(kHardware, 16, 990), kSync, ns(0), ns(0));
  const Span second = dma.transfer(copy(kSoftware, 16, 90), kSync, ns(0), ns(0));
  EXPECT_EQ(first.start, ns(1000));
  EXPECT_EQ(second.start, first.end);  // though it was ready at 400
}

TEST(DmaEngines, FillsGapsWithTransfersOfOtherQueues) {
  const Architecture a = round_numbers();
  for (const int64_t bytes : {570, 590, 591}) {
    DmaEngines dma(a);
    const Span first = dma.transfer(copy(kHardware, 16, 90), kSync, ns(0), ns(0));
    const Span other = dma.transfer(copy(kSoftware, 16, bytes), EngineKind::kGpSimd, ns(0), ns(0));
    EXPECT_EQ(first.start, ns(1000));
    EXPECT_EQ(other.start, ns(400));
    // What does not fit in the 600 ns before the first one goes on after it.
    EXPECT_EQ(other.end - ns(400), ns(bytes + (bytes > 256 ? 30 : 10)) + ns(bytes > 570 ? 100 : 0))
        << bytes;
  }
}

TEST(DmaEngines, ALoadWaitsForHbmByItsSizeUpToTheMaximum) {
  Architecture a = round_numbers();
  a.dma.load_stall = ns(100);
  a.dma.load_stall_kibibyte = ns(2);
  a.dma.load_stall_maximum = ns(131);
  const auto stall = [&](int64_t kibibytes, bool store) {
    DmaEngines dma(a);
    const Span span = dma.transfer(copy(kStatic, 16, kibibytes * 64, store), kSync, ns(0), ns(0));
    EXPECT_EQ(span.start, ns(store ? 990 : 900));
    return span.end - span.start - ns(10 + kibibytes * 64);
  };
  EXPECT_EQ(stall(1, false), ns(102));
  EXPECT_EQ(stall(15, false), ns(130));
  EXPECT_EQ(stall(16, false), ns(131));
  EXPECT_EQ(stall(16, true), ns(0));
}

TEST(DmaEngines, ALoadBehindALoadOfItsQueueStallsAgain) {
  Architecture a = round_numbers();
  a.dma.load_stall = ns(500);
  a.dma.load_stall_queued_hardware = ns(40);
  a.dma.load_stall_queued_software = ns(30);
  for (const bool first_stores : {false, true}) {
    DmaEngines dma(a);
    const Span first = dma.transfer(copy(kHardware, 16, 990, first_stores), kSync, ns(0), ns(0));
    const Span load = dma.transfer(copy(kHardware, 16, 90), kSync, ns(0), ns(0));
    EXPECT_EQ(load.start, first.end);
    EXPECT_EQ(load.end, first.end + ns(100 + (first_stores ? 0 : 40)));
    const Span store = dma.transfer(copy(kHardware, 16, 90, true), kSync, ns(0), ns(0));
    EXPECT_EQ(store.end, load.end + ns(100));
  }
  DmaEngines dma(a);
  const Span first = dma.transfer(copy(kSoftware, 16, 990), kSync, ns(0), ns(0));
  EXPECT_EQ(dma.transfer(copy(kSoftware, 16, 90), kSync, ns(0), ns(0)).end, first.end + ns(130));
  // A queue that has been idle for that long has forgotten it.
  const Span late = dma.transfer(copy(kSoftware, 16, 90), kSync, ns(0), ns(5000));
  EXPECT_EQ(late.start, ns(5400));
  EXPECT_EQ(late.end, ns(5400 + 500 + 100));
}

TEST(DmaEngines, ShareTheBandwidthOfHbm) {
  Architecture a = round_numbers();
  for (const int64_t bandwidth : {8, 16, 32}) {  // bytes per ns of all 16 engines
    a.dma.hbm_bytes_per_nanosecond = static_cast<double>(bandwidth);
    DmaEngines dma(a);
    const Span span = dma.transfer(copy(kStatic, 16, 90), kSync, ns(0), ns(0));
    // A packet's own 10 ns pass while HBM serves the other engines.
    EXPECT_EQ(span.end - span.start, ns(bandwidth == 8 ? 180 : 10 + 90)) << bandwidth;
  }
}

TEST(DmaEngines, EachOfTwoCoresHasHalfOfHbm) {
  Architecture a = round_numbers();
  a.dma.hbm_bytes_per_nanosecond = 32;  // 1 byte per ns of each of 32 engines
  const auto length = [&](size_t cores, int64_t bytes, bool in_hbm) {
    DmaEngines dma(a, cores);
    const Span span = dma.transfer(copy(kStatic, 16, bytes), kSync, ns(0), ns(0), in_hbm);
    return span.end - span.start;
  };
  EXPECT_EQ(length(1, 90, true), ns(10 + 90));
  EXPECT_EQ(length(2, 90, true), ns(10 + 90));
  a.dma.hbm_bytes_per_nanosecond = 16;
  EXPECT_EQ(length(1, 90, true), ns(10 + 90));
  EXPECT_EQ(length(2, 90, true), ns(180));
  EXPECT_EQ(length(2, 9, true), ns(10 + 9));     // the packet takes longer than HBM
  EXPECT_EQ(length(2, 90, false), ns(10 + 90));  // from SBUF to SBUF
}

TEST(DmaEngines, AStorePaysForEveryRow) {
  Architecture a = round_numbers();
  a.dma.packet_store = ns(15);
  const auto length = [&](DescriptorKind kind, bool store) {
    DmaEngines dma(a);
    const Span span = dma.transfer(copy(kind, 64, 64, store), kSync, ns(0), ns(0));
    return span.end - span.start;
  };
  EXPECT_EQ(length(kStatic, false), ns(4 * 10 + 256));
  EXPECT_EQ(length(kStatic, true), ns(4 * 15 + 256));
  EXPECT_EQ(length(kSoftware, false), ns(10 + 256));
  EXPECT_EQ(length(kSoftware, true), ns(4 * 15 + 256));
}

TEST(BusyCalendar, FillsEveryGapBeforeItGoesOn) {
  BusyCalendar calendar;
  EXPECT_EQ(calendar.reserve(ns(100), ns(10)).start, ns(100));
  EXPECT_EQ(calendar.reserve(ns(200), ns(10)).start, ns(200));
  Span span = calendar.reserve(ns(0), ns(100));  // up to the first one
  EXPECT_EQ(span.start, ns(0));
  EXPECT_EQ(span.end, ns(100));
  span = calendar.reserve(ns(0), ns(91));  // 110 to 200, and one after 210
  EXPECT_EQ(span.start, ns(110));
  EXPECT_EQ(span.end, ns(211));
  EXPECT_EQ(calendar.reserve(ns(0), ns(1)).start, ns(211));
  EXPECT_EQ(calendar.reserve(ns(300), ns(1)).start, ns(300));
  EXPECT_EQ(calendar.reserve(ns(212), ns(88)).end, ns(300));
  EXPECT_EQ(calendar.reserve(ns(0), ns(0)).start, ns(301));
}

TEST(BusyCalendar, GivesUpGapsBeforeItsOldestTransfer) {
  BusyCalendar calendar;
  for (int64_t i = 1; i <= 24; ++i) {
    EXPECT_EQ(calendar.reserve(ns(100 * i), ns(10)).start, ns(100 * i));
  }
  EXPECT_EQ(calendar.reserve(ns(3000), ns(10)).start, ns(3000));
  EXPECT_EQ(calendar.reserve(ns(0), ns(10)).start, ns(110));
  EXPECT_EQ(calendar.reserve(ns(0), ns(5)).start, ns(120));  // nor what it gave up itself
}

/// Time in steps of 1: each of them is taken by the first who asks for it.
class OneByOne {
 public:
  Span reserve(int64_t ready, int64_t duration) {
    Span span{ns(-1), {}, {}};
    for (int64_t time = ready; duration > 0; ++time) {
      if (taken_.contains(time)) continue;
      taken_.insert(time);
      if (span.start < ns(0)) span.start = ns(time);
      span.end = ns(time + 1);
      --duration;
    }
    return span;
  }

 private:
  std::set<int64_t> taken_;
};

TEST(BusyCalendar, AgreesWithAnEngineFollowedNanosecondByNanosecond) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    BusyCalendar calendar;
    OneByOne engine;
    for (int i = 0; i < 24; ++i) {  // as many as are kept
      const auto ready = static_cast<int64_t>(random() % 300);
      const auto duration = static_cast<int64_t>(random() % 40 + 1);
      const Span expected = engine.reserve(ready, duration);
      const Span actual = calendar.reserve(ns(ready), ns(duration));
      ASSERT_EQ(actual.start, expected.start) << round << ", " << i;
      ASSERT_EQ(actual.end, expected.end) << round << ", " << i;
    }
  }
}

}  // namespace
}  // namespace neuron_sim
