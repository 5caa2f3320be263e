#include "device/isa/sequencing/register_alloc.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(RegisterAlloc, SetsTheRegisterToAConstant) {
  InstructionBench bench;
  for (const int64_t value : {int64_t{0}, int64_t{-2147483648}, int64_t{4294967295}}) {
    bench.registers().values[63] = 77;
    bench.run(RegisterAlloc{.dst = 63, .x_constant = value});
    EXPECT_EQ(bench.registers().values[63], value);
    EXPECT_EQ(bench.registers().values[62], 0);
  }
}

TEST(RegisterAlloc, SetsTheRegisterToAnElementOfSbufOrHbm) {
  for (const MemoryKind memory : {kSbuf, kHbm}) {
    InstructionBench bench;
    const View table = bench.tile(memory, Dtype::kInt32, {1, 3}, "table", {5, -7, 9});
    bench.run(RegisterAlloc{.dst = 3, .x = table.slice(1, 1, 1)});
    EXPECT_EQ(bench.registers().values[3], -7);
    const View large = bench.tile(memory, Dtype::kUint32, {1, 1}, "large", {4294967295.0});
    bench.run(RegisterAlloc{.dst = 4, .x = large});
    EXPECT_EQ(bench.registers().values[4], 4294967295);
  }
}

TEST(RegisterAlloc, LeavesTheRegisterAloneWithoutX) {
  InstructionBench bench;
  bench.registers().values[9] = 123;
  bench.run(RegisterAlloc{.dst = 9});
  EXPECT_EQ(bench.registers().values[9], 123);
}

TEST(RegisterAlloc, TakesAStepOfTheSequencerOnlyToSetTheRegister) {
  InstructionBench bench;
  const View x = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "t");
  const auto elements = [&](const RegisterAlloc& instruction) {
    const Demand demand = bench.demand(instruction);
    EXPECT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kSequencer);
    return demand.steps[0].elements;
  };
  EXPECT_EQ(elements({.dst = 1}), 0);
  EXPECT_EQ(elements({.dst = 1, .x_constant = 0}), 1);
  EXPECT_EQ(elements({.dst = 1, .x = x}), 1);
  EXPECT_EQ(bench.prepare(RegisterAlloc{}).engine, EngineKind::kSync);
}

TEST(RegisterAlloc, ReportsWrongValuesAndRegisters) {
  InstructionBench bench;
  const auto error = [&](const RegisterAlloc& instruction) { return bench.error(instruction); };
  const auto tile = [&](MemoryKind memory, Dtype dtype, std::vector<int64_t> shape) {
    return bench.tile(memory, dtype, std::move(shape), "t");
  };
  EXPECT_EQ(error({.dst = 63, .x_constant = 4294967295}), "");
  EXPECT_EQ(error({.dst = 64}),
            "register 64 of 'register_alloc' does not exist; a sequencer of architecture trn2 has "
            "64 registers.");
  EXPECT_EQ(error({.x_constant = 4294967296}),
            "x 4294967296 of 'register_alloc' does not fit into the 32 bits of a register.");
  EXPECT_EQ(error({.x_constant = -2147483649}),
            "x -2147483649 of 'register_alloc' does not fit into the 32 bits of a register.");
  EXPECT_EQ(error({.x = tile(kSbuf, Dtype::kInt32, {1, 1}), .x_constant = 5}),
            "operand 'x' of 'register_alloc' is given twice: as t[1, 1] and as the constant 5.");
  EXPECT_EQ(error({.x = tile(kPsum, Dtype::kInt32, {1, 1})}),
            "Expected operand 'x' of 'register_alloc' to be in address space 'hbm|sbuf', but got a "
            "tile in 'psum' instead.");
  EXPECT_EQ(error({.x = tile(kSbuf, Dtype::kInt32, {1, 2})}),
            "operand 'x' of 'register_alloc' is t[1, 2], but must have one element.");
  EXPECT_EQ(error({.x = tile(kSbuf, Dtype::kInt8, {1, 1})}),
            "dtype int8 of operand 'x' of 'register_alloc' is not supported; expected int32 or "
            "uint32.");
}

}  // namespace
}  // namespace neuron_sim
