// The table [override] of an architecture file: "what if" in one line per change.

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

Architecture overridden(const std::string& lines) { return read_trn2_with("[override]\n" + lines); }

void expect_override_refused(const std::string& lines, const std::vector<std::string>& parts) {
  expect_refused("[override]\n" + lines, parts);
}

TEST(Overrides, AFactorMultipliesTheBasesValue) {
  const Architecture base = read_trn2_with("");
  const Architecture changed = overridden("\"dma.hbm_bytes_per_nanosecond\" = \"2x\"\n");
  for (const auto& [key, each] : base.facts()) {
    const double factor = key == "dma.hbm_bytes_per_nanosecond" ? 2 : 1;
    EXPECT_EQ(changed.facts().at(key).value, factor * each.value) << key;
  }
}

TEST(Overrides, AnOverriddenFactIsAssumedAndItsSourceSaysWhatItWas) {
  const Fact before = read_trn2_with("").facts().at("clocks.vector");
  const Fact after = overridden("\"clocks.vector\" = \"0.5x\"\n").facts().at("clocks.vector");
  EXPECT_EQ(after.value, 0.5 * before.value);
  EXPECT_EQ(after.unit, before.unit);
  EXPECT_EQ(after.certainty, "assumed");
  EXPECT_EQ(after.source, "override: 0.5 times 0.96 GHz (" + before.source + ")");
}

TEST(Overrides, NumbersAndFlagsReplaceTheBasesValue) {
  const Architecture changed =
      overridden("dma.engines = 32\nclocks.vector = 2\nfeatures.clock_gating = false\n");
  EXPECT_EQ(changed.facts().at("dma.engines").value, 32);
  EXPECT_EQ(changed.clocks.vector.value, 2);
  EXPECT_FALSE(changed.features.clock_gating);
}

TEST(Overrides, AGroupChangesAllItsFacts) {
  const Architecture base = read_trn2_with("");
  for (const FactGroup& group : fact_groups()) {
    const std::string factor = group.name == "sbuf.size" ? "2x" : "0.5x";
    const Architecture changed =
        overridden("\"" + std::string(group.name) + "\" = \"" + factor + "\"\n");
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
  const Architecture mine =
      read({{"trn2", builtin_text("trn2")},
            {"mine", "arch = \"trn2\"\n[override]\n\"hbm.bandwidth\" = \"2x\"\n"}},
           "mine");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.facts().at("dma.hbm_bytes_per_nanosecond").value, 1432);
  expect_refused("arch = \"trn2\"\n", {"second base"});  // after base = "trn2"
}

TEST(Overrides, AFileMayBuildOnAnOverriddenOne) {
  const Architecture last =
      read({{"trn2", builtin_text("trn2")},
            {"first", "base = \"trn2\"\n[override]\n\"dma.engines\" = \"2x\"\n"},
            {"last", "base = \"first\"\n[override]\n\"dma.engines\" = \"2x\"\n"}},
           "last");
  EXPECT_EQ(last.facts().at("dma.engines").value, 64);
}

TEST(Overrides, AFactOfTheSameFileIsOverriddenToo) {
  const Architecture mine =
      read_trn2_with(fact("dma.engines", "8", "1") + "[override]\n\"dma.engines\" = \"3x\"\n");
  EXPECT_EQ(mine.facts().at("dma.engines").value, 24);
}

TEST(Overrides, WhatCannotBeIsRefusedAndNamed) {
  expect_override_refused("\"dma.engine\" = 3\n",
                          {"'override.dma.engine'", "unknown", "hbm.bandwidth"});
  expect_override_refused("dma.engine = 3\n", {"'override.dma.engine'", "unknown"});
  expect_override_refused("\"dma.engines\" = \"1.03x\"\n",
                          {"'dma.engines'", "16.48", "must be an integer"});
  expect_override_refused("\"dma.engines\" = 0\n", {"'dma.engines'", "from 1 to 1024"});
  expect_override_refused("\"dma.engines\" = \"65x\"\n", {"1040", "from 1 to 1024"});
  EXPECT_EQ(overridden("\"dma.engines\" = \"64x\"\n").facts().at("dma.engines").value, 1024);
  expect_override_refused("\"dma.engines\" = true\n", {"is a number"});
  expect_override_refused("\"features.clock_gating\" = 1\n", {"true or false"});
  expect_override_refused("\"features.clock_gating\" = \"2x\"\n", {"true or false"});
  expect_override_refused("\"clocks.vector\" = nan\n", {"'clocks.vector'", "from"});
  expect_override_refused("\"clocks.tensor_cold\" = 3\n", {"'clocks.tensor_cold.value'"});
  expect_refused("override = 3\n", {"'override'", "table"});
}

TEST(Overrides, OnlyPositiveNumbersBeforeAnXAreFactors) {
  EXPECT_EQ(factor_of("2x"), 2);
  EXPECT_EQ(factor_of("0.25x"), 0.25);
  EXPECT_EQ(factor_of("1e3x"), 1000);
  for (const char* text : {"", "x", "2", "2 x", "0x", "-1x", "infx", "nanx", "2xx", "ax"}) {
    EXPECT_FALSE(factor_of(text)) << text;
    expect_override_refused("\"clocks.vector\" = \"" + std::string(text) + "\"\n",
                            {"'override.clocks.vector'", "\"2x\""});
  }
}

TEST(Overrides, AnOverrideWithoutABaseNeedsTheFactInItsFile) {
  EXPECT_NE(message_of([&] {
              read({{"mine", "[override]\n\"dma.engines\" = 3\n"}}, "mine");
            }).find("'dma.engines', which no base has"),
            std::string::npos);
}

}  // namespace
}  // namespace neuron_sim
