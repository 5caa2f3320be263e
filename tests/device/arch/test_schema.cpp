// What an architecture file may say, and the sentences that refuse the rest.

#include <gtest/gtest.h>

#include "device/arch/fields.h"
#include "device/arch/reader.h"
#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

using test::builtin_text;
using test::expect_parts;
using test::expect_refused;
using test::fact;
using test::message_of;
using test::NamedText;
using test::read;
using test::read_trn2_with;
using test::replaced;
using test::TemporaryFolder;

/// A file that states every fact of trn2 but that of `key`.
std::string complete_without(const std::string& key) {
  const Architecture& trn2 = load_architecture("trn2");
  std::string content = "neuron_core = \"NeuronCore-v3\"\ngeneration = 3\n";
  for (const Field& field : architecture_fields()) {
    if (field.key == key) continue;
    const double number = field.get(trn2);
    std::string value = std::to_string(number);
    if (field.form == Form::kInteger) value = std::to_string(static_cast<int64_t>(number));
    if (field.form == Form::kBoolean) value = number != 0 ? "true" : "false";
    content += fact(field.key, value, field.unit);
  }
  return content;
}

TEST(Schema, EachMissingKeyIsNamed) {
  EXPECT_EQ(read({{"trn2", complete_without("")}}, "trn2").limits.hbm.count, int64_t{96} << 30);
  for (const Field& field : architecture_fields()) {
    const std::string without = complete_without(field.key);
    expect_parts(message_of([&] {
                   read({{"trn2", without}}, "trn2");
                 }),
                 {"'" + field.key + "'", "'trn2'", "missing"});
  }
  for (const char* line : {"neuron_core = \"NeuronCore-v3\"", "generation = 3"}) {
    const std::string without = replaced(complete_without(""), line, "");
    const std::string key = std::string(line).substr(0, std::string(line).find(' '));
    expect_parts(message_of([&] { read({{"trn2", without}}, "trn2"); }), {"'" + key + "'"});
  }
}

TEST(Schema, EachMissingPropertyOfAValueIsNamed) {
  const std::string complete = fact("limits.cores", "3", "1");
  EXPECT_EQ(read_trn2_with(complete).limits.cores, 3);
  for (const std::string line :
       {"value = 3\n", "unit = \"1\"\n", "source = \"a test\"\n", "certainty = \"assumed\"\n"}) {
    const std::string key = "limits.cores." + line.substr(0, line.find(' '));
    expect_refused(replaced(complete, line, ""), {"'" + key + "'", "'mine.toml'", "missing"});
  }
}

TEST(Schema, UnknownKeysAreRefusedWithTheAllowedOnes) {
  expect_refused(fact("limits.partition", "128", "1"),
                 {"'limits.partition'", "'mine.toml'", "unknown", "partitions", "moving_free"});
  expect_refused(fact("limit.partitions", "128", "1"),
                 {"'limit'", "unknown", "limits", "features", "generation"});
  expect_refused(fact("semaphore.wake.dma.dma", "1", "ns"),
                 {"'semaphore.wake.dma.dma'", "tensor, vector, scalar, gpsimd, sync."});
  expect_refused("bases = \"trn1\"\n", {"'bases'", "base, name", "hbm, sbuf"});
  expect_refused(fact("limits.cores", "3", "1") + "units = \"1\"\n",
                 {"'limits.cores.units'", "value, unit, source, certainty"});
  EXPECT_EQ(read_trn2_with(fact("limits.cores", "3", "1") + "note = \"why\"\n").limits.cores, 3);
}

TEST(Schema, WrongTypesAreRefused) {
  expect_refused(fact("limits.cores", "3.0", "1"), {"'limits.cores.value'", "3.0", "integer"});
  expect_refused(fact("limits.cores", "\"3\"", "1"), {"'limits.cores.value'", "integer"});
  expect_refused(fact("limits.cores", "true", "1"), {"'limits.cores.value'", "true", "integer"});
  expect_refused(fact("features.clock_gating", "1", "1"),
                 {"'features.clock_gating.value'", "1", "true or false"});
  expect_refused(fact("clocks.vector", "\"fast\"", "GHz"), {"'clocks.vector.value'", "number"});
  EXPECT_EQ(read_trn2_with(fact("clocks.vector", "1", "GHz")).clocks.vector.value, 1)
      << "an integer is a number";
  EXPECT_FALSE(read_trn2_with(fact("features.clock_gating", "false", "1")).features.clock_gating);
  expect_refused("limits = 3\n", {"'limits'", "3", "table"});
  expect_refused("limits.cores = [3]\n", {"'limits.cores'", "[ 3 ]", "number", "table"});
  expect_refused("hbm = 3\n", {"'hbm'", "3", "table"});
  expect_refused("name = 3\n", {"'name'", "3", "string"});
  expect_refused("name = \"\"\n", {"'name'", "empty"});
  expect_refused("generation = \"3\"\n", {"'generation'", "integer"});
  expect_refused("generation = 0\n", {"'generation'", "0"});
  expect_refused("[limits.cores]\nvalue = 1\nunit = 1\nsource = \"s\"\ncertainty = \"assumed\"\n",
                 {"'limits.cores.unit'", "string"});
}

TEST(Schema, WrongUnitsAndCertaintiesAreRefused) {
  expect_refused(fact("dma.packet", "5", "us"), {"'dma.packet.unit'", "'us'", "'ns'"});
  expect_refused(fact("limits.hbm", "5", "GiB"), {"'limits.hbm.unit'", "'GiB'", "'bytes'"});
  expect_refused(fact("dma.packet", "5", "ns", "guessed"),
                 {"'dma.packet.certainty'", "'guessed'", "documented, measured, fitted, assumed"});
  const std::string quoted(80, 'a');  // a message quotes no more of a text
  expect_refused(fact("dma.packet", "5", "ns", (quoted + "aaaa").c_str()), {quoted + "...'"});
  for (const char* certainty : {"documented", "measured", "fitted", "assumed", "derived"}) {
    EXPECT_EQ(read_trn2_with(fact("dma.packet", "5", "ns", certainty)).dma.packet.count, 5000);
  }
}

TEST(Schema, ValuesThatContradictEachOtherAreRefused) {
  const int64_t hardware = read_trn2_with("").limits.sbuf_partition.count;
  EXPECT_EQ(read_trn2_with(fact("limits.sbuf_usable", std::to_string(hardware), "bytes"))
                .limits.sbuf_usable.count,
            hardware);
  expect_refused(fact("limits.sbuf_usable", std::to_string(hardware + 1), "bytes"),
                 {"'limits.sbuf_usable.value'", std::to_string(hardware), "sbuf_partition"});
  expect_refused(fact("tensor.gate_down", "0.9", "1"), {"'tensor.gate_down.value'", "gate_up"});
  expect_refused(fact("clocks.tensor_cold", "2.5", "GHz"), {"'clocks.tensor_cold.value'"});
  for (const char* key :
       {"limits.vector_transpose", "limits.gpsimd_core_partitions", "limits.array_tile"}) {
    EXPECT_EQ(message_of([&] { read_trn2_with(fact(key, "128", "1")); }), "");
    expect_refused(fact(key, "129", "1"), {key, "129", "128", "'limits.partitions'"});
  }
  expect_refused(fact("limits.topk_minimum_elements", "65536", "1"), {"65535"});
}

TEST(Schema, BrokenTomlIsRefusedWithItsLine) {
  expect_refused("name = \n", {"'mine.toml'", "line 2"});
  expect_refused("name = \"a\"\nname = \"b\"\n", {"'mine.toml'", "line 3"});
}

TEST(Schema, RemarksAreText) {
  const std::string start = fact("dma.packet", "9", "ns", "fitted");
  for (const char* remark : {"note", "date"}) {
    expect_refused(start + remark + " = 5\n",
                   {std::string("'dma.packet.") + remark + "'", "must be a string"});
  }
}

TEST(Schema, BasesMayBeSiblingFilesAndChains) {
  const TemporaryFolder folder;
  folder.write("first.toml", "base = \"gen2\"\n" + fact("limits.cores", "3", "1"));
  const std::string second = folder.write("second.toml", "base = \"first.toml\"\ngeneration = 7\n" +
                                                             fact("dma.packet", "9", "ns"));
  const Architecture architecture =
      read({{"trn1", builtin_text("trn1")}, {"trn2", builtin_text("trn2")}}, second);
  EXPECT_EQ(architecture.name, "second");
  EXPECT_EQ(architecture.generation, 7);
  EXPECT_EQ(architecture.limits.cores, 3);
  EXPECT_EQ(architecture.dma.packet.count, 9000);
  EXPECT_EQ(architecture.clocks.tensor.value, 2.8);
}

TEST(Schema, CyclesOfBasesShowTheChain) {
  const TemporaryFolder folder;
  const std::string first = folder.write("a.toml", "base = \"b.toml\"\n");
  folder.write("b.toml", "base = \"./a.toml\"\n");
  const std::string self = folder.write("self.toml", "base = \"self.toml\"\n");
  expect_parts(message_of([&] { read({}, first); }), {"'base'", "a.toml -> ", "b.toml -> "});
  expect_parts(message_of([&] { read({}, self); }), {"'base'", "self.toml -> "});
  const std::vector<NamedText> builtin = {{"trn1", "base = \"trn2\"\n"},
                                          {"trn2", "base = \"gen2\"\n"}};
  expect_parts(message_of([&] { read(builtin, "trn1"); }), {"trn1 -> trn2 -> trn1"});
}

TEST(Schema, FilesThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  expect_parts(message_of([&] { read({}, folder.path("none.toml")); }), {"none.toml", "read"});
  std::filesystem::create_directory(folder.path("folder.toml"));
  expect_parts(message_of([&] { read({}, folder.path("folder.toml")); }), {"folder.toml", "read"});
  const std::string lost = folder.write("lost.toml", "base = \"none.toml\"\n");
  expect_parts(message_of([&] { read({}, lost); }), {"none.toml"});
  const std::string unknown = folder.write("unknown.toml", "base = \"trn9\"\n");
  expect_parts(message_of([&] { read({}, unknown); }), {"'trn9'", "unknown"});
}

}  // namespace
}  // namespace neuron_sim
