#include "device/timeline/engines/elementwise_engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

/// Cycles until the next instruction may issue, at 1 GHz and without access overhead.
int64_t interval(const Architecture& architecture, const EngineTiming& engine, const Step& step) {
  EngineTiming timing = engine;
  timing.overhead_sbuf = 0;
  ElementwiseEngine unit(timing, architecture.rates, {1});
  return unit.run(step, {}).end.count / 1000;
}

TEST(ElementwiseEngine, ADataDependentAddressRaisesTheMinimumTo600Cycles) {
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

TEST(ElementwiseEngine, RatesFollowTheGeneration) {
  const auto cycles = [](const char* name, RateClass rate) {
    const Architecture& a = load_architecture(name);
    return interval(a, a.vector, {.rate = rate, .elements = 1000});
  };
  EXPECT_EQ(cycles("trn1", RateClass::kTwoInputsBf16), 1000);
  EXPECT_EQ(cycles("trn1", RateClass::kTwoInputs16bit), 1000);
  for (const char* name : {"trn2", "trn3"}) {
    EXPECT_EQ(cycles(name, RateClass::kTwoInputsBf16), 500);
    EXPECT_EQ(cycles(name, RateClass::kTwoInputs16bit), 500);
  }
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

TEST(ElementwiseEngine, EveryRateOfAFileIsTheTimeOfItsClassAlone) {
  const Architecture base = test::read_trn2_with("");
  for (size_t row = 0; row < kRateRows.size(); ++row) {
    const std::string key = std::string("rates.") + kRateRows[row].key;
    const Architecture changed = test::read_trn2_with(test::fact(key, "37", "cycles"));
    for (size_t each = 0; each < kRateRows.size(); ++each) {
      const Step step{.rate = static_cast<RateClass>(each), .elements = 1000};
      const int64_t before = interval(base, base.vector, step);
      EXPECT_EQ(interval(changed, changed.vector, step), each == row ? 37000 : before) << key;
    }
  }
}

TEST(ElementwiseEngine, ReadingTheVectorAccumulatorsCosts64Cycles) {
  const Architecture& a = load_architecture("trn2");
  EXPECT_EQ(interval(a, a.vector, {.elements = 1000}), 1000);
  EXPECT_EQ(interval(a, a.vector, {.reads_accumulator = true, .elements = 1000}), 1064);
}

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

/// 1 GHz, one cycle per element, no overhead; a table takes `table_load` ns.
class Unit {
 public:
  explicit Unit(int64_t table_load = 0) {
    timing_.minimum_cycles = timing_.stride_factor = 1;
    timing_.table_load = ns(table_load);
  }
  Span copy(int64_t ready) { return engine.run({.elements = 500}, ns(ready)); }
  Span function(int8_t table, int64_t ready) {
    return engine.run({.table = table, .elements = 500}, ns(ready));
  }

 private:
  const Architecture& architecture_ = load_architecture("trn2");
  EngineTiming timing_{};

 public:
  ElementwiseEngine engine{timing_, architecture_.rates, {1}};
};

TEST(ElementwiseEngine, TheFirstTableIsLoadedBeforeWhatNeedsNoneIfThereIsTimeForIt) {
  for (const int64_t load : {599, 600, 601, 2000}) {
    Unit unit(load);
    unit.copy(600);
    const Span first = unit.function(0, 0);
    const Span table = unit.engine.table_load();
    EXPECT_EQ(table.start, load <= 600 ? ns(0) : ns(1100));
    EXPECT_EQ(table.done - table.start, ns(load));
    EXPECT_EQ(first.start, load <= 600 ? ns(1100) : table.end);
    const Span same = unit.function(0, 0);
    EXPECT_EQ(same.start, first.end);
    EXPECT_EQ(unit.engine.table_load().end, unit.engine.table_load().start);
    const Span other = unit.function(1, 5000);  // a later one stands after the previous instruction
    EXPECT_EQ(unit.engine.table_load().start, same.end);
    EXPECT_EQ(other.start, std::max(ns(5000), same.end + ns(load)));
  }
}

TEST(ElementwiseEngine, ATriggerStartsWhileThePipelineWorksAndHoldsUpWhatFollows) {
  for (const int64_t duration : {399, 400, 401, 900}) {
    Unit unit;
    const Span copy = unit.copy(50);
    EXPECT_EQ(unit.engine.next_dispatch(), copy.start);
    EXPECT_EQ(unit.engine.next_issue(), copy.end);
    const Span trigger = unit.engine.dispatch(ns(150), ns(duration));
    EXPECT_EQ(trigger.start, ns(150));
    EXPECT_EQ(trigger.end, ns(150 + duration));
    EXPECT_EQ(unit.copy(0).start, std::max(copy.end, trigger.end));
  }
}

TEST(ElementwiseEngine, TriggersFollowEachOtherInOrder) {
  Unit unit;
  EXPECT_EQ(unit.engine.dispatch(ns(10), ns(100)).start, ns(10));
  EXPECT_EQ(unit.engine.dispatch(ns(109), ns(100)).start, ns(110));
  EXPECT_EQ(unit.engine.dispatch(ns(211), ns(100)).start, ns(211));
  EXPECT_EQ(unit.engine.dispatch(ns(0), ns(0)).start, ns(311));  // not before an earlier one
}

TEST(ElementwiseEngine, OtherWorkWaitsForThePipelineAndForTriggers) {
  Unit unit;
  unit.copy(0);
  const Span work = unit.engine.occupy(ns(100), ns(50));
  EXPECT_EQ(work.start, ns(500));
  EXPECT_EQ(unit.engine.next_dispatch(), ns(550));
  unit.engine.dispatch(ns(0), ns(100));
  EXPECT_EQ(unit.engine.occupy(ns(0), ns(1)).start, ns(650));
}

}  // namespace
}  // namespace neuron_sim
