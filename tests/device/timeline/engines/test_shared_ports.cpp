#include "device/timeline/engines/shared_ports.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }
constexpr MemoryAccess kSbuf{true, false}, kPsum{false, true}, kBoth{true, true};

/// Both instructions want to start at 0: the first takes 100 ns, the second 50 and 10 more to its
/// result. When the second one does.
Span second(const char* architecture, EngineKind first_engine, const MemoryAccess& first,
            EngineKind second_engine, const MemoryAccess& second, RateClass rate = {}) {
  SharedPorts ports(load_architecture(architecture));
  Step step;
  step.rate = rate;
  ports.grant(first_engine, step, first, {ns(0), ns(100), ns(120)});
  return ports.grant(second_engine, step, second, {ns(0), ns(50), ns(60)});
}

constexpr EngineKind kVector = EngineKind::kVector, kScalar = EngineKind::kScalar,
                     kGpSimd = EngineKind::kGpSimd;

TEST(SharedPorts, GenerationTwoLetsVectorAndGpSimdTakeTurnsInSbuf) {
  const Span waits = second("trn1", kVector, kSbuf, kGpSimd, kSbuf);
  EXPECT_EQ(waits.start, ns(100));
  EXPECT_EQ(waits.end, ns(150));
  EXPECT_EQ(waits.done, ns(160));
  EXPECT_EQ(second("trn1", kGpSimd, kSbuf, kVector, kBoth).start, ns(100));
  EXPECT_EQ(second("trn1", kVector, kPsum, kGpSimd, kSbuf).start, ns(0));
  EXPECT_EQ(second("trn1", kVector, kSbuf, kScalar, kSbuf).start, ns(0));
}

TEST(SharedPorts, GenerationTwoLetsVectorAndScalarTakeTurnsInPsum) {
  EXPECT_EQ(second("trn1", kVector, kPsum, kScalar, kBoth).end, ns(150));
  EXPECT_EQ(second("trn1", kScalar, kBoth, kVector, kPsum).end, ns(150));
  EXPECT_EQ(second("trn1", kScalar, kSbuf, kVector, kPsum).end, ns(50));
  for (const char* name : {"trn2", "trn3"}) {
    EXPECT_EQ(second(name, kVector, kPsum, kScalar, kPsum).end, ns(50));
  }
}

TEST(SharedPorts, LaterOnlyFastModesOfVectorTakeThePortOfGpSimd) {
  for (const char* name : {"trn2", "trn3"}) {
    for (const RateClass fast :
         {RateClass::kCopy16bit, RateClass::kTwoInputs16bit, RateClass::kTwoInputsBf16}) {
      EXPECT_EQ(second(name, kVector, kSbuf, kGpSimd, kSbuf, fast).start, ns(100));
    }
    EXPECT_EQ(second(name, kVector, kSbuf, kGpSimd, kSbuf, RateClass::kTwoInputs).start, ns(0));
  }
}

TEST(SharedPorts, WhatCameFirstGoesOnInTheTimeThatIsLeft) {
  SharedPorts ports(load_architecture("trn1"));
  ports.grant(kVector, {}, kSbuf, {ns(40), ns(140), ns(150)});
  const Span span = ports.grant(kGpSimd, {}, kSbuf, {ns(0), ns(50), ns(60)});
  EXPECT_EQ(span.start, ns(0));
  EXPECT_EQ(span.end, ns(150));  // 40 before, 10 after
  EXPECT_EQ(span.done, ns(160));
  EXPECT_EQ(ports.grant(kGpSimd, {}, kSbuf, {ns(150), ns(160), ns(170)}).start, ns(150));
}

}  // namespace
}  // namespace neuron_sim
