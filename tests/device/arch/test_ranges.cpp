// How large and small the values of an architecture file may be, and the file itself.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <iomanip>
#include <sstream>

#include "device/arch/fields.h"
#include "tests/device/arch/architecture_files.h"

namespace neuron_sim {
namespace {

using test::builtin_text;
using test::expect_parts;
using test::expect_refused;
using test::fact;
using test::message_of;
using test::read;
using test::read_trn2_with;
using test::TemporaryFolder;

TEST(Ranges, RangesHoldAtBothEdges) {
  expect_refused(fact("limits.cores", "0", "1"), {"'limits.cores.value'", "0", "from 1 to 65536"});
  expect_refused(fact("limits.cores", "-1", "1"), {"-1"});
  EXPECT_EQ(read_trn2_with(fact("limits.cores", "1", "1")).limits.cores, 1);
  expect_refused(fact("limits.partitions", "2147483648", "1"),
                 {"'limits.partitions.value'", "'mine.toml'", "is 2147483648", "from 32 to 4096"});
  expect_refused(fact("clocks.gpsimd", "0.0", "GHz"), {"'clocks.gpsimd.value'", "from 0.01"});
  expect_refused(fact("tensor.gate_window", "1e-300", "ns"),
                 {"'tensor.gate_window.value'", "1e-300", "from 1 to"});
  EXPECT_EQ(read_trn2_with(fact("dma.packet", "0", "ns")).dma.packet.count, 0);
  expect_refused(fact("dma.packet", "-0.001", "ns"), {"'dma.packet.value'", "from 0"});
  for (const char* value : {"nan", "inf", "-inf", "1e300", "9007199254740992"}) {
    expect_refused(fact("dma.packet", value, "ns"), {"'dma.packet.value'", "from 0 to 100000000"});
  }
  expect_refused(fact("limits.cores", "9223372036854775807", "1"), {"9223372036854775807"});
  expect_refused(fact("limits.cores", "9223372036854775808", "1"), {"'mine.toml'", "TOML"});
  EXPECT_EQ(read_trn2_with(fact("tensor.gate_up", "1", "1")).tensor.gate_up, 1);
  expect_refused(fact("tensor.gate_up", "1.01", "1"), {"'tensor.gate_up.value'", "from 0 to 1"});
  expect_refused("generation = 1001\n", {"'generation'", "1001", "from 1 to 1000"});
  EXPECT_EQ(read_trn2_with("generation = 1000\n").generation, 1000);
}

/// A value as a file of that field's form writes it.
std::string written(const Field& field, double value) {
  if (field.form == Form::kInteger) return std::to_string(static_cast<int64_t>(value));
  std::ostringstream out;
  out << std::setprecision(17) << value;
  return out.str();
}

TEST(Ranges, EachFieldIsHeldToItsRangeAtBothEnds) {
  for (const Field& field : architecture_fields()) {
    if (field.form == Form::kBoolean) continue;
    EXPECT_LT(field.range.least, field.range.most) << field.key;
    const auto message = [&](double value) {
      return message_of(
          [&] { read_trn2_with(fact(field.key, written(field, value), field.unit)); });
    };
    const bool whole = field.form == Form::kInteger;
    const std::string refusal = "'" + field.key + ".value' of architecture file 'mine.toml' is ";
    for (const double inside : {field.range.least, field.range.most}) {
      // Another value may contradict it: sbuf_usable more than sbuf_partition.
      EXPECT_EQ(message(inside).find("but must be from"), std::string::npos) << message(inside);
    }
    for (const double outside : {field.range.least - (whole ? 1 : field.range.least * 1e-9 + 1e-9),
                                 field.range.most + (whole ? 1 : field.range.most * 1e-9)}) {
      expect_parts(message(outside), {refusal, "but must be from "});
    }
  }
}

TEST(Ranges, MemoriesThatNoHostReservesAreRefused) {
  const std::string partitions = fact("limits.partitions", "4096", "1");
  EXPECT_EQ(read_trn2_with(partitions + fact("limits.sbuf_partition", "4194304", "bytes"))
                .limits.sbuf_partition.count,
            4194304);
  expect_refused(partitions + fact("limits.sbuf_partition", "4194305", "bytes"),
                 {"'mine'", "limits.partitions * limits.sbuf_partition", "17179869184"});
  const std::string banks = partitions + fact("limits.psum_banks", "1024", "1");
  EXPECT_EQ(read_trn2_with(banks + fact("limits.psum_bank", "4096", "bytes")).limits.psum_banks,
            1024);
  expect_refused(banks + fact("limits.psum_bank", "4097", "bytes"), {"limits.psum_banks"});
}

TEST(Ranges, LargeFilesPipesAndLongChainsAreRefused) {
  const TemporaryFolder folder;
  const std::string start = "base = \"trn2\"\n#";
  const size_t limit = 1 << 20;
  const auto file = [&](size_t size) {
    return folder.write("big.toml", start + std::string(size - start.size(), '#'));
  };
  const auto message = [](const std::string& path) {
    return message_of([&] { read({{"trn2", builtin_text("trn2")}}, path); });
  };
  EXPECT_EQ(message(file(limit)), "");
  expect_parts(message(file(limit + 1)), {"big.toml", "larger than 1048576 bytes"});
  ASSERT_EQ(mkfifo(folder.path("pipe.toml").c_str(), 0600), 0);
  expect_parts(message(folder.path("pipe.toml")), {"pipe.toml", "cannot be read"});
  for (int i = 0; i < 17; ++i) {
    const std::string base = i == 0 ? "trn2" : "link" + std::to_string(i - 1) + ".toml";
    folder.write("link" + std::to_string(i) + ".toml", "base = \"" + base + "\"\n");
  }
  EXPECT_EQ(message(folder.path("link14.toml")), "");
  expect_parts(message(folder.path("link15.toml")), {"chain of bases", "16"});
  expect_parts(message(folder.write("deep.toml", "name = " + std::string(100000, '['))),
               {"deep.toml", "not valid TOML"});
}

}  // namespace
}  // namespace neuron_sim
