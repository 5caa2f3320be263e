#include <gtest/gtest.h>

#include "device/isa/sequencing/register_load.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(RegisterLoad, ReadsOneIntegerOfSbufOrHbm) {
  for (const MemoryKind memory : {kSbuf, kHbm}) {
    InstructionBench bench;
    const View table = bench.tile(memory, Dtype::kInt32, {1, 3}, "table", {5, -7, 9});
    bench.run(RegisterLoad{.dst = 3, .src = table.slice(1, 1, 1)});
    EXPECT_EQ(bench.registers().values[3], -7);
    const View large = bench.tile(memory, Dtype::kUint32, {1, 1}, "large", {4294967295.0});
    bench.run(RegisterLoad{.dst = 4, .src = large});
    EXPECT_EQ(bench.registers().values[4], 4294967295);
    EXPECT_EQ(bench.registers().values[3], -7);
  }
}

TEST(RegisterLoad, ReportsWrongSourcesAndRegisters) {
  InstructionBench bench;
  const auto error = [&](int64_t index, MemoryKind memory, Dtype dtype,
                         std::vector<int64_t> shape) {
    return bench.error(
        RegisterLoad{.dst = index, .src = bench.tile(memory, dtype, std::move(shape), "t")});
  };
  EXPECT_EQ(error(63, kSbuf, Dtype::kInt32, {1, 1}), "");
  EXPECT_EQ(
      error(64, kSbuf, Dtype::kInt32, {1, 1}),
      "register 64 of 'register_load' does not exist; a sequencer of architecture trn2 has 64 "
      "registers.");
  EXPECT_EQ(error(0, kPsum, Dtype::kInt32, {1, 1}),
            "Expected operand 'src' of 'register_load' to be in address space 'hbm|sbuf', but got "
            "a tile in 'psum' instead.");
  EXPECT_EQ(error(0, kSbuf, Dtype::kInt32, {2, 1}),
            "operand 'src' of 'register_load' is t[2, 1], but must have one element.");
  EXPECT_EQ(error(0, kSbuf, Dtype::kInt32, {1, 2}),
            "operand 'src' of 'register_load' is t[1, 2], but must have one element.");
  EXPECT_EQ(error(0, kSbuf, Dtype::kInt16, {1, 1}),
            "dtype int16 of operand 'src' of 'register_load' is not supported; expected int32 or "
            "uint32.");
}

TEST(RegisterLoad, DemandsTheSequencer) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(RegisterLoad{.src = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "t")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kSequencer);
}

}  // namespace
}  // namespace neuron_sim
