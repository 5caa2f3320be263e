// What a file takes from its base, and what an engine takes from the section of all engines.

#include <gtest/gtest.h>

#include "device/arch/document.h"
#include "device/arch/fields.h"
#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

using test::builtin_text;
using test::expect_refused;
using test::fact;
using test::NamedText;
using test::read;
using test::read_trn2_with;

TEST(Inheritance, AFactFromABaseOfAnotherGenerationIsAssumedAsInTheBase) {
  const Architecture base = read_trn2_with("");
  const std::string mine = "generation = 4\n" + fact("dma.packet", "9", "ns", "measured");
  const Architecture next = read_trn2_with(mine);
  int inherited = 0, shared = 0;
  for (const auto& [key, before] : base.facts()) {
    const Fact& after = next.facts().at(key);
    if (key == "dma.packet") continue;
    EXPECT_EQ(after.value, before.value) << key;
    EXPECT_EQ(after.unit, before.unit) << key;
    if (after.source == before.source) {
      ++shared;
      EXPECT_EQ(after.certainty, before.certainty) << key;
      EXPECT_EQ(after.generations.back(), 4) << key << " says that it speaks of generation 4";
      continue;
    }
    ++inherited;
    EXPECT_EQ(after.source, "as trn2: " + before.source) << key;
    EXPECT_EQ(after.certainty, "assumed") << key;
  }
  EXPECT_GT(inherited, 100);
  EXPECT_GT(shared, 10);
  EXPECT_EQ(next.facts().at("dma.packet").certainty, "measured");
  EXPECT_EQ(next.facts().at("dma.packet").source, "a test");
}

TEST(Inheritance, AFileOfItsBasesGenerationKeepsWhatIsKnown) {
  const Architecture base = read_trn2_with("");
  for (const char* mine : {"name = \"mine\"\n", "generation = 3\n"}) {
    const Architecture same = read_trn2_with(mine);
    for (const auto& [key, fact] : same.facts()) {
      EXPECT_EQ(fact.certainty, base.facts().at(key).certainty) << key;
      EXPECT_EQ(fact.source, base.facts().at(key).source) << key;
    }
  }
}

TEST(Inheritance, AFactOfABaseKeepsItsCertaintyInTheGenerationsThatItsSourceSpeaksOf) {
  const std::string fitted = fact("dma.packet", "9", "ns", "fitted") + "generations = [5]\n";
  const auto inherited = [&](const std::string& generation) {
    return read({{"trn2", builtin_text("trn2")},
                 {"middle", "base = \"trn2\"\n" + fitted},
                 {"mine", "base = \"middle\"\n" + generation}},
                "mine")
        .facts()
        .at("dma.packet");
  };
  EXPECT_EQ(inherited("").certainty, "fitted");
  EXPECT_EQ(inherited("generation = 5\n").certainty, "fitted");
  EXPECT_EQ(inherited("generation = 6\n").certainty, "assumed");
  EXPECT_EQ(inherited("generation = 6\n").source, "as middle: a test");
}

TEST(Inheritance, AListOfGenerationsHoldsNumbersOfGenerations) {
  const std::string start = fact("dma.packet", "9", "ns");
  expect_refused(start + "generations = 4\n", {"'dma.packet.generations'", "4", "list"});
  expect_refused(start + "generations = [0]\n", {"'dma.packet.generations'", "0", "1"});
  expect_refused(start + "generations = [\"trn3\"]\n", {"'dma.packet.generations'", "trn3"});
}

TEST(Inheritance, ABuiltinFileStatesNothingThatItWouldInherit) {
  for (const std::string name : {"trn1", "trn3"}) {
    const Document stated = parse_document(builtin_text(name), name);
    const Architecture inherited =
        read_trn2_with("generation = " + std::to_string(*stated.generation) + "\n");
    ASSERT_EQ(stated.base, "trn2");
    for (const auto& [key, own] : stated.facts) {
      const Fact& rule = inherited.facts().at(key);
      EXPECT_FALSE(own.value == rule.value && own.source == rule.source &&
                   own.certainty == rule.certainty)
          << name << " " << key;
    }
  }
}

TEST(Inheritance, AFactOfAllEnginesIsThatOfEachWhoseSectionDoesNotStateIt) {
  const std::string all = fact("engine.pointer_latency", "70", "ns", "measured");
  const Architecture same = read_trn2_with(all);
  for (const char* engine : {"vector", "scalar", "gpsimd", "sync"}) {
    const Fact& each = same.facts().at(std::string(engine) + ".pointer_latency");
    EXPECT_EQ(each.value, 70) << engine;
    EXPECT_EQ(each.certainty, "measured") << engine;
  }
  const Architecture other = read_trn2_with(all + fact("scalar.pointer_latency", "80", "ns"));
  EXPECT_EQ(other.vector.pointer_latency.nanoseconds(), 70);
  EXPECT_EQ(other.scalar.pointer_latency.nanoseconds(), 80);
  EXPECT_EQ(other.facts().size(), architecture_fields().size()) << "[engine] is no section of it";
}

TEST(Inheritance, TheSectionOfAllEnginesIsHeldToTheSchema) {
  expect_refused(fact("engine.latencies", "1", "ns"),
                 {"'engine.latencies'", "unknown", "table_load"});
  expect_refused(fact("engine.latency", "1", "cycles"), {"'engine.latency.unit'", "'ns'"});
  expect_refused(fact("engine.latency", "-1", "ns"), {"'engine.latency.value'", "-1"});
}

}  // namespace
}  // namespace neuron_sim
