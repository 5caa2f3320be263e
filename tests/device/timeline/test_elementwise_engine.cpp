#include "device/timeline/elementwise_engine.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

/// Cycles until the next instruction may issue, at 1 GHz and without access overhead.
int64_t interval(const Architecture& architecture, const EngineTiming& engine, const Step& step) {
  EngineTiming timing = engine;
  timing.overhead_sbuf = 0;
  ElementwiseEngine unit(timing, architecture.rates, {1});
  return unit.run(step, {}).end.count / 1000;
}

TEST(ElementwiseEngine, a_data_dependent_address_raises_the_minimum_to_600_cycles) {
  for (const std::string& name : builtin_architectures()) {
    const Architecture& a = load_architecture(name);
    for (const EngineTiming* engine : {&a.vector, &a.scalar}) {
      EXPECT_EQ(interval(a, *engine, {.elements = 10}), 64);
      EXPECT_EQ(interval(a, *engine, {.dynamic_address = true, .elements = 10}), 600);
      EXPECT_EQ(interval(a, *engine, {.dynamic_address = true, .elements = 599}), 600);
      EXPECT_EQ(interval(a, *engine, {.dynamic_address = true, .elements = 601}), 601);
    }
  }
}

TEST(ElementwiseEngine, rates_follow_the_generation) {
  const auto cycles = [](const char* name, RateClass rate) {
    const Architecture& a = load_architecture(name);
    return interval(a, a.vector, {.rate = rate, .elements = 1000});
  };
  EXPECT_EQ(cycles("trn1", RateClass::kTwoInputsBf16), 1000);
  EXPECT_EQ(cycles("trn1", RateClass::kTwoInputs16bit), 2000);
  EXPECT_EQ(cycles("trn2", RateClass::kTwoInputs16bit), 1000);
  EXPECT_EQ(cycles("trn1", RateClass::kScalar16bit), 1000);
  EXPECT_EQ(cycles("trn2", RateClass::kScalar16bit), 1000);
  EXPECT_EQ(cycles("trn3", RateClass::kScalar16bit), 500);
  EXPECT_EQ(cycles("trn3", RateClass::kExponential), 250);
  EXPECT_EQ(cycles("trn3", RateClass::kUniformRandom), 250);
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    EXPECT_EQ(cycles(name, RateClass::kGpSimdRsqrt), 4000);
    EXPECT_EQ(cycles(name, RateClass::kBnAggregate), 13000);
  }
}

TEST(ElementwiseEngine, reading_the_vector_accumulators_costs_64_cycles) {
  const Architecture& a = load_architecture("trn2");
  EXPECT_EQ(interval(a, a.vector, {.elements = 1000}), 1000);
  EXPECT_EQ(interval(a, a.vector, {.reads_accumulator = true, .elements = 1000}), 1064);
}

}  // namespace
}  // namespace neuron_sim
