// Values alone in an architecture file: "what if" in one line per change.

#include <gtest/gtest.h>

#include <set>

#include "device/arch/fact_groups.h"
#include "device/arch/fields.h"
#include "device/arch/overrides.h"
#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

using test::builtin_text;
using test::expect_refused;
using test::fact;
using test::message_of;
using test::read;
using test::read_trn2_with;

TEST(Overrides, AFactorMultipliesTheBasesValue) {
  const Architecture base = read_trn2_with("");
  const Architecture changed = read_trn2_with("\"dma.hbm_bytes_per_nanosecond\" = \"2x\"\n");
  for (const auto& [key, each] : base.facts()) {
    const double factor = key == "dma.hbm_bytes_per_nanosecond" ? 2 : 1;
    EXPECT_EQ(changed.facts().at(key).value, factor * each.value) << key;
  }
}

TEST(Overrides, AnOverriddenFactIsAssumedAndItsSourceSaysWhatItWas) {
  const Fact before = read_trn2_with("").facts().at("clocks.vector");
  const Fact after = read_trn2_with("\"clocks.vector\" = \"0.5x\"\n").facts().at("clocks.vector");
  EXPECT_EQ(after.value, 0.5 * before.value);
  EXPECT_EQ(after.unit, before.unit);
  EXPECT_EQ(after.certainty, "assumed");
  EXPECT_EQ(after.source, "override: 0.5 times 0.96 GHz (" + before.source + ")");
}

TEST(Overrides, NumbersAndFlagsReplaceTheBasesValue) {
  const Architecture changed =
      read_trn2_with("dma.engines = 32\nclocks.vector = 2\nfeatures.clock_gating = false\n");
  EXPECT_EQ(changed.facts().at("dma.engines").value, 32);
  EXPECT_EQ(changed.clocks.vector.value, 2);
  EXPECT_FALSE(changed.features.clock_gating);
}

TEST(Overrides, AGroupChangesAllItsFacts) {
  const Architecture base = read_trn2_with("");
  for (const FactGroup& group : fact_groups()) {
    const std::string factor = group.name == "sbuf.size" ? "2x" : "0.5x";
    const Architecture changed =
        read_trn2_with("\"" + std::string(group.name) + "\" = \"" + factor + "\"\n");
    for (const std::string_view key : group.keys) {
      const double before = base.facts().at(std::string(key)).value;
      EXPECT_EQ(changed.facts().at(std::string(key)).value, before * (factor == "2x" ? 2 : 0.5));
    }
  }
}

TEST(Overrides, GroupsNameFactsAndAreNoneThemselves) {
  std::set<std::string> keys;
  for (const Field& field : architecture_fields()) keys.insert(field.key);
  for (const FactGroup& group : fact_groups()) {
    EXPECT_EQ(keys.count(std::string(group.name)), 0U) << group.name;
    for (const std::string_view key : group.keys) EXPECT_EQ(keys.count(std::string(key)), 1U);
  }
}

TEST(Overrides, ArchIsAnotherNameOfBase) {
  const Architecture mine = read(
      {{"trn2", builtin_text("trn2")}, {"mine", "arch = \"trn2\"\n\"hbm.bandwidth\" = \"2x\"\n"}},
      "mine");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.facts().at("dma.hbm_bytes_per_nanosecond").value, 1432);
  expect_refused("arch = \"trn2\"\n", {"second base"});  // after base = "trn2"
}

TEST(Overrides, AFileMayBuildOnAnOverriddenOne) {
  const Architecture last = read({{"trn2", builtin_text("trn2")},
                                  {"first", "base = \"trn2\"\n\"dma.engines\" = \"2x\"\n"},
                                  {"last", "base = \"first\"\n\"dma.engines\" = \"2x\"\n"}},
                                 "last");
  EXPECT_EQ(last.facts().at("dma.engines").value, 64);
}

TEST(Overrides, AFactOfTheSameFileIsOverriddenToo) {
  const Architecture mine = read_trn2_with("dma.bandwidth = \"3x\"\n" +
                                           fact("dma.bytes_per_nanosecond", "8", "bytes/ns"));
  EXPECT_EQ(mine.facts().at("dma.bytes_per_nanosecond").value, 24);
}

TEST(Overrides, WhatCannotBeIsRefusedAndNamed) {
  expect_refused("\"dma.engine\" = 3\n", {"'dma.engine'", "unknown", "engines", "bandwidth"});
  expect_refused("dma.engine = 3\n", {"'dma.engine'", "unknown"});
  expect_refused("\"dma.engines\" = \"1.03x\"\n", {"'dma.engines'", "16.48", "must be an integer"});
  expect_refused("\"dma.engines\" = 0\n", {"'dma.engines'", "from 1 to 1024"});
  expect_refused("\"dma.engines\" = \"65x\"\n", {"1040", "from 1 to 1024"});
  EXPECT_EQ(read_trn2_with("\"dma.engines\" = \"64x\"\n").facts().at("dma.engines").value, 1024);
  expect_refused("\"dma.engines\" = true\n", {"is a number"});
  expect_refused("\"features.clock_gating\" = 1\n", {"true or false"});
  expect_refused("\"features.clock_gating\" = \"2x\"\n", {"true or false"});
  expect_refused("\"clocks.vector\" = nan\n", {"'clocks.vector'", "from"});
  expect_refused("\"clocks.tensor_cold\" = 3\n", {"'clocks.tensor_cold.value'"});
}

TEST(Overrides, AValueAloneOfEngineChangesEveryEngine) {
  const Architecture changed = read_trn2_with("engine.psum_latency = 7\nvector.psum_latency = 8\n");
  for (const std::string_view engine : kEngineSections) {
    const std::string key = std::string(engine) + ".psum_latency";
    EXPECT_EQ(changed.facts().at(key).value, engine == "vector" ? 8 : 7) << key;
  }
}

TEST(Overrides, OlderFilesHaveThemBelowOverride) {
  const std::string lines = "dma.engines = 32\n\"hbm.bandwidth\" = \"2x\"\n";
  const Architecture plain = read_trn2_with(lines);
  const Architecture older = read_trn2_with("[override]\n" + lines);
  for (const auto& [key, each] : plain.facts()) {
    EXPECT_EQ(older.facts().at(key).value, each.value) << key;
    EXPECT_EQ(older.facts().at(key).source, each.source) << key;
  }
  EXPECT_EQ(plain.facts().at("dma.engines").value, 32);
  expect_refused("override = 3\n", {"'override'", "table"});
  expect_refused("[override]\ndma.engine = 3\n", {"'dma.engine'", "unknown"});
}

TEST(Overrides, ASweepOfTheSameFileIsNoFact) {
  EXPECT_EQ(read_trn2_with("dma.engines = 32\n[sweep]\ntarget = \"a.py:b\"\n").dma.engines, 32);
  expect_refused("sweep = 3\n", {"'sweep'", "table"});
}

TEST(Overrides, OnlyPositiveNumbersBeforeAnXAreFactors) {
  EXPECT_EQ(factor_of("2x"), 2);
  EXPECT_EQ(factor_of("0.25x"), 0.25);
  EXPECT_EQ(factor_of("1e3x"), 1000);
  for (const char* text : {"", "x", "2", "2 x", "0x", "-1x", "infx", "nanx", "2xx", "ax"}) {
    EXPECT_FALSE(factor_of(text)) << text;
    expect_refused("\"clocks.vector\" = \"" + std::string(text) + "\"\n",
                   {"'clocks.vector'", "\"2x\""});
  }
}

TEST(Overrides, AnOverrideWithoutABaseNeedsTheFactInItsFile) {
  EXPECT_NE(message_of([&] {
              read({{"mine", "\"dma.engines\" = 3\n"}}, "mine");
            }).find("'dma.engines', which no base has"),
            std::string::npos);
}

}  // namespace
}  // namespace neuron_sim
