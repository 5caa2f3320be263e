#include "device/arch/architecture.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "device/arch/fields.h"
#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

using test::fact;
using test::message_of;
using test::ScopedVariable;
using test::TemporaryFolder;

TEST(Architecture, TheBuiltinChipsLoad) {
  EXPECT_EQ(builtin_architectures(), (std::vector<std::string>{"inf2", "trn1", "trn2", "trn3"}));
  const std::map<std::string, int64_t> generations = {
      {"inf2", 2}, {"trn1", 2}, {"trn2", 3}, {"trn3", 4}};
  for (const auto& [name, generation] : generations) {
    const Architecture& architecture = load_architecture(name);
    EXPECT_EQ(architecture.name, name);
    EXPECT_EQ(architecture.neuron_core, text("NeuronCore-v", generation));
    EXPECT_EQ(architecture.generation, generation);
    EXPECT_EQ(architecture.facts().size(), architecture_fields().size());
  }
}

TEST(Architecture, BuiltinValuesAreTheDocumentedOnes) {
  const Architecture& trn1 = load_architecture("trn1");
  const Architecture& trn2 = load_architecture("trn2");
  const Architecture& trn3 = load_architecture("trn3");
  EXPECT_EQ(trn1.limits.sbuf_usable.count, 180224);
  EXPECT_EQ(trn2.limits.sbuf_usable.count, 212984);
  EXPECT_EQ(trn3.limits.sbuf_usable.count, 245752);
  EXPECT_EQ(trn2.limits.hbm.count, int64_t{96} << 30);
  EXPECT_EQ(trn2.limits.moving_free, 512);
  EXPECT_EQ(trn3.limits.moving_free, 4096);
  EXPECT_EQ(trn1.limits.logical_cores, 1);
  EXPECT_EQ(trn2.limits.logical_cores, 2);
  EXPECT_EQ(trn3.limits.logical_cores, 2);
  EXPECT_EQ(trn2.limits.gpsimd_dma_elements, 256);
  EXPECT_EQ(trn1.clocks.tensor.value, 2.8);
  EXPECT_EQ(trn3.clocks.vector.value, 1.2);
  EXPECT_FALSE(trn1.features.clock_gating);
  EXPECT_TRUE(trn2.features.clock_gating);
  EXPECT_EQ(trn1.tensor.columns_init, 64);
  EXPECT_EQ(trn2.tensor.gate_window.count, 3413300);
  EXPECT_EQ(trn2.tensor.issue_overhead.count, 2500);
  EXPECT_EQ(trn2.rates[RateClass::kCopy16bit], 0.25);
  EXPECT_EQ(trn2.dma.hardware_trigger_element.count, 860);
  EXPECT_EQ(trn2.semaphore.wake[0][1].count, 38000) << "Tensor wakes Vector";
  EXPECT_EQ(trn2.semaphore.wake[5][4].count, 17000) << "DMA wakes Sync";
  EXPECT_EQ((trn2.launch.benchmark + trn2.launch.benchmark_software).count, 8500000);
  EXPECT_EQ(trn1.launch.benchmark.count, 13500000);
}

// An exponential on the Scalar engine takes N + 172 cycles from PSUM and N + 222 from SBUF;
// tensor_scalar with a pointer takes N/2 + 124 on Vector (measured).
TEST(Architecture, SplitOverheadsAddUpToTheMeasuredOnes) {
  const Architecture& trn2 = load_architecture("trn2");
  const EngineTiming& scalar = trn2.scalar;
  EXPECT_EQ(scalar.overhead_psum + scalar.function_overhead, 172);
  EXPECT_EQ(scalar.overhead_sbuf + scalar.function_overhead + scalar.function_overhead_sbuf, 222);
  EXPECT_EQ((scalar.latency + scalar.function_latency).nanoseconds(), 259);
  EXPECT_EQ(trn2.vector.overhead_sbuf + trn2.vector.pointer_overhead, 124);
  EXPECT_EQ(
      (trn2.vector.latency + trn2.vector.write_latency + trn2.vector.pointer_latency).nanoseconds(),
      213);
}

TEST(Architecture, Inferentia2HasTheCoreOfTrn1AndOtherLinks) {
  const Architecture& inf2 = load_architecture("inf2");
  const Architecture& trn1 = load_architecture("trn1");
  std::set<std::string> different;
  for (const Field& field : architecture_fields()) {
    if (field.get(inf2) != field.get(trn1)) different.insert(field.key);
  }
  EXPECT_EQ(different, (std::set<std::string>{"collective.instance_chips",
                                              "collective.link_bytes_per_nanosecond",
                                              "collective.network_bytes_per_nanosecond"}));
  EXPECT_EQ(inf2.collective.link_bytes_per_nanosecond * 2,
            trn1.collective.link_bytes_per_nanosecond);
  EXPECT_EQ(inf2.collective.instance_chips, 12);
}

TEST(Architecture, EveryFactIsInTheMemberOfItsKey) {
  for (const std::string& name : builtin_architectures()) {
    const Architecture& architecture = load_architecture(name);
    for (const Field& field : architecture_fields()) {
      const Fact& fact = architecture.facts().at(field.key);
      EXPECT_DOUBLE_EQ(field.get(architecture), fact.value) << name << " " << field.key;
      EXPECT_EQ(fact.unit, field.unit) << field.key;
      EXPECT_GE(fact.source.size(), 6u) << name << " " << field.key;
    }
  }
}

// Each of the numeric sections is nothing but members of one size, so a member without a key
// changes the size of its section.
TEST(Architecture, EveryMemberHasAKeyOfItsOwn) {
  std::map<std::string, size_t> keys;
  std::set<std::string> distinct;
  for (const Field& field : architecture_fields()) {
    ++keys[field.key.substr(0, field.key.find('.'))];
    EXPECT_TRUE(distinct.insert(field.key).second) << field.key;
  }
  EXPECT_EQ(keys["limits"] * sizeof(int64_t), sizeof(Limits));
  EXPECT_EQ(keys["features"] * sizeof(bool), sizeof(Features));
  EXPECT_EQ(keys["clocks"] * sizeof(Gigahertz), sizeof(Clocks));
  EXPECT_EQ(keys["tensor"] * sizeof(double), sizeof(TensorTiming));
  for (const char* engine : {"vector", "scalar", "gpsimd", "sync"}) {
    EXPECT_EQ(keys[engine] * sizeof(double), sizeof(EngineTiming)) << engine;
  }
  EXPECT_EQ(keys["rates"] * sizeof(double), sizeof(Rates));
  EXPECT_EQ(keys["dma"] * sizeof(double), sizeof(DmaTiming));
  EXPECT_EQ(keys["semaphore"] * sizeof(Picoseconds), sizeof(SemaphoreTiming));
  EXPECT_EQ(keys["launch"] * sizeof(Picoseconds), sizeof(LaunchTiming));
  EXPECT_EQ(keys["peer"] * sizeof(double), sizeof(PeerTiming));
  EXPECT_EQ(keys["collective"] * sizeof(double), sizeof(CollectiveTiming));
  EXPECT_EQ(keys.size(), 14u);
}

TEST(Architecture, SettingOneFieldChangesNoOther) {
  for (const Field& changed : architecture_fields()) {
    Architecture architecture;
    changed.set(architecture, 1);
    for (const Field& field : architecture_fields()) {
      EXPECT_EQ(field.get(architecture), &field == &changed ? 1 : 0)
          << changed.key << " changes " << field.key;
    }
  }
}

TEST(Architecture, AliasesAreTheSameObject) {
  EXPECT_EQ(&load_architecture("gen2"), &load_architecture("trn1"));
  EXPECT_EQ(&load_architecture("gen3"), &load_architecture("trn2"));
  EXPECT_EQ(&load_architecture("gen4"), &load_architecture("trn3"));
  EXPECT_NE(&load_architecture("trn1"), &load_architecture("trn2"));
}

TEST(Architecture, AnUnknownNameListsTheKnownOnes) {
  for (const char* name : {"trn4", "", "TRN2", "trn2 "}) {
    const std::string message = message_of([&] { load_architecture(name); });
    EXPECT_NE(message.find(std::string("'") + name + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("inf2, trn1, trn2, trn3, gen2, gen3, gen4"), std::string::npos);
  }
}

TEST(Architecture, AUsersFileOverridesOneValueOfItsBase) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("wide.toml", "base = \"trn2\"\n" + fact("limits.moving_free", "1024", "1"));
  const Architecture& wide = load_architecture(path);
  const Architecture& trn2 = load_architecture("trn2");
  EXPECT_EQ(wide.name, "wide");
  EXPECT_EQ(wide.neuron_core, "NeuronCore-v3");
  EXPECT_EQ(wide.limits.moving_free, 1024);
  EXPECT_EQ(wide.facts().at("limits.moving_free").source, "a test");
  EXPECT_EQ(trn2.limits.moving_free, 512);
  for (const Field& field : architecture_fields()) {
    if (field.key == "limits.moving_free") continue;
    EXPECT_EQ(field.get(wide), field.get(trn2)) << field.key;
  }
}

TEST(Architecture, EqualContentIsTheSameObjectAndOtherContentAnother) {
  const TemporaryFolder folder;
  const std::string value = fact("limits.cores", "3", "1");
  const std::string first = folder.write("a.toml", "name = \"x\"\nbase = \"trn2\"\n" + value);
  const std::string same = folder.write("b.toml", "base = \"gen3\"\n\nname = \"x\"\n" + value);
  const std::string other = folder.write("c.toml", "name = \"y\"\nbase = \"trn2\"\n" + value);
  EXPECT_EQ(&load_architecture(first), &load_architecture(first));
  EXPECT_EQ(&load_architecture(first), &load_architecture(same));
  EXPECT_NE(&load_architecture(first), &load_architecture(other));
  const Architecture& before = load_architecture(first);
  folder.write("a.toml", "name = \"x\"\nbase = \"trn2\"\n" + fact("limits.cores", "4", "1"));
  EXPECT_NE(&load_architecture(first), &before) << "a file is read again at each call";
  EXPECT_EQ(before.limits.cores, 3);
  const std::string copy = folder.write("trn2.toml", test::builtin_text("trn2"));
  EXPECT_EQ(&load_architecture(copy), &load_architecture("trn2"));
}

TEST(Architecture, EnvironmentVariablesChooseTheDefault) {
  const TemporaryFolder folder;
  const std::string path = folder.write("mine.toml", "base = \"trn3\"\n");
  const ScopedVariable none("NEURON_SIM_ARCH", nullptr);
  const ScopedVariable nothing("NEURON_PLATFORM_TARGET_OVERRIDE", nullptr);
  EXPECT_EQ(default_architecture().name, "trn2");
  const ScopedVariable vendor("NEURON_PLATFORM_TARGET_OVERRIDE", "gen2");
  EXPECT_EQ(default_architecture().name, "trn1");
  const ScopedVariable empty("NEURON_SIM_ARCH", "");
  EXPECT_EQ(default_architecture().name, "trn1") << "empty is unset";
  const ScopedVariable own("NEURON_SIM_ARCH", path.c_str());
  EXPECT_EQ(default_architecture().name, "mine");
  EXPECT_EQ(&default_architecture(), &load_architecture(path));
}

TEST(Architecture, AWrongEnvironmentVariableIsNamed) {
  const ScopedVariable own("NEURON_SIM_ARCH", nullptr);
  for (const char* value : {"trn9", "file.toml"}) {
    const ScopedVariable vendor("NEURON_PLATFORM_TARGET_OVERRIDE", value);
    const std::string message = message_of([] { default_architecture(); });
    EXPECT_NE(message.find("NEURON_PLATFORM_TARGET_OVERRIDE"), std::string::npos) << message;
    EXPECT_NE(message.find(value), std::string::npos) << message;
  }
  const ScopedVariable missing("NEURON_SIM_ARCH", "missing.toml");
  const std::string message = message_of([] { default_architecture(); });
  EXPECT_NE(message.find("NEURON_SIM_ARCH: "), std::string::npos) << message;
}

TEST(Architecture, ThreadsGetTheSameObject) {
  const TemporaryFolder folder;
  const std::string path = folder.write("shared.toml", "base = \"trn1\"\n");
  std::vector<const Architecture*> seen(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = &load_architecture(path); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<const Architecture*>(seen.begin(), seen.end()).size(), 1u);
}

}  // namespace
}  // namespace neuron_sim
