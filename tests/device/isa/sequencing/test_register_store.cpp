#include "device/isa/sequencing/register_store.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(RegisterStore, WritesOneElementOfSbufOrHbm) {
  for (const MemoryKind memory : {kSbuf, kHbm}) {
    InstructionBench bench;
    const View table = bench.tile(memory, Dtype::kInt32, {1, 3}, "table", {5, -7, 9});
    bench.registers().values[3] = -2147483648;
    bench.run(RegisterStore{.dst = table.slice(1, 1, 1), .src = 3});
    EXPECT_EQ(bench.get(table), (std::vector<double>{5, -2147483648.0, 9}));
    EXPECT_EQ(bench.registers().values[3], -2147483648);
  }
}

TEST(RegisterStore, KeepsThe32BitsWhateverTheirSign) {
  InstructionBench bench;
  const View as_signed = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "signed");
  const View as_unsigned = bench.tile(kSbuf, Dtype::kUint32, {1, 1, 1}, "unsigned");
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{4294967295}, int64_t{2147483648}}) {
    bench.registers().values[63] = value;
    bench.run(RegisterStore{.dst = as_signed, .src = 63});
    bench.run(RegisterStore{.dst = as_unsigned, .src = 63});
    EXPECT_EQ(bench.bits(as_signed)[0], static_cast<uint32_t>(value));
    EXPECT_EQ(bench.bits(as_unsigned)[0], static_cast<uint32_t>(value));
  }
}

TEST(RegisterStore, ReportsWrongDestinationsAndRegisters) {
  InstructionBench bench;
  const auto error = [&](int64_t index, MemoryKind memory, Dtype dtype,
                         std::vector<int64_t> shape) {
    return bench.error(
        RegisterStore{.dst = bench.tile(memory, dtype, std::move(shape), "t"), .src = index});
  };
  EXPECT_EQ(error(63, kSbuf, Dtype::kInt32, {1, 1}), "");
  EXPECT_EQ(error(64, kSbuf, Dtype::kInt32, {1, 1}),
            "register 64 of 'register_store' does not exist; a sequencer of architecture trn2 has "
            "64 registers.");
  EXPECT_EQ(error(-1, kSbuf, Dtype::kInt32, {1, 1}),
            "register -1 of 'register_store' does not exist; a sequencer of architecture trn2 has "
            "64 registers.");
  EXPECT_EQ(error(0, kPsum, Dtype::kInt32, {1, 1}),
            "Expected operand 'dst' of 'register_store' to be in address space 'hbm|sbuf', but got "
            "a tile in 'psum' instead.");
  EXPECT_EQ(error(0, kSbuf, Dtype::kInt32, {2, 1}),
            "operand 'dst' of 'register_store' is t[2, 1], but must have one element.");
  EXPECT_EQ(error(0, kHbm, Dtype::kUint32, {1, 2}),
            "operand 'dst' of 'register_store' is t[1, 2], but must have one element.");
  EXPECT_EQ(error(0, kSbuf, kFp32, {1, 1}),
            "dtype float32 of operand 'dst' of 'register_store' is not supported; expected int32 "
            "or uint32.");
}

TEST(RegisterStore, DemandsTheSequencer) {
  InstructionBench bench;
  const View dst = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "t");
  EXPECT_EQ(bench.prepare(RegisterStore{.dst = dst}).engine, EngineKind::kSync);
  const Demand demand = bench.demand(RegisterStore{.dst = dst});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kSequencer);
  EXPECT_EQ(demand.steps[0].elements, 1);
}

}  // namespace
}  // namespace neuron_sim
