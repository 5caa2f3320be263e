#include "device/isa/sequencing/register_move.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(RegisterMove, WritesTheImmediate) {
  InstructionBench bench;
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{-2147483648}, int64_t{4294967295}}) {
    bench.run(RegisterMove{.dst = 63, .src = value});
    EXPECT_EQ(bench.registers().values[63], value);
    EXPECT_EQ(bench.registers().values[62], 0);
  }
}

TEST(RegisterMove, CopiesAnotherRegister) {
  InstructionBench bench;
  bench.registers().values[0] = -17;
  bench.registers().values[63] = 4294967295;
  bench.run(RegisterMove{.dst = 5, .src_register = 0});
  EXPECT_EQ(bench.registers().values[5], -17);
  bench.run(RegisterMove{.dst = 5, .src = 9, .src_register = 63});
  EXPECT_EQ(bench.registers().values[5], 4294967295);
  bench.run(RegisterMove{.dst = 63, .src_register = 63});
  EXPECT_EQ(bench.registers().values[63], 4294967295);
}

TEST(RegisterMove, RunsOnTheSequencerOfAnyEngineAndOnSyncByDefault) {
  InstructionBench bench;
  EXPECT_EQ(bench.prepare(RegisterMove{}).engine, EngineKind::kSync);
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const Draft draft = RegisterMove{.engine = static_cast<EngineKind>(engine)}.draft();
    EXPECT_EQ(bench.prepare(draft).engine, static_cast<EngineKind>(engine));
    const Demand demand = bench.demand(draft);
    ASSERT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kSequencer);
  }
}

TEST(RegisterMove, ReportsRegistersAndImmediatesOutOfRange) {
  InstructionBench bench;
  const auto error = [&](int64_t index, int64_t value, int64_t source = -1) {
    return bench.error(RegisterMove{.dst = index, .src = value, .src_register = source});
  };
  EXPECT_EQ(error(63, 0), "");
  EXPECT_EQ(error(64, 0),
            "register 64 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(-1, 0),
            "register -1 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(0, 0, 63), "");
  EXPECT_EQ(error(0, 0, 64),
            "register 64 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(0, 0, -2),
            "register -2 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(0, 4294967295), "");
  EXPECT_EQ(error(0, 4294967296),
            "src 4294967296 of 'register_move' does not fit into the 32 "
            "bits of a register.");
  EXPECT_EQ(error(0, -2147483648), "");
  EXPECT_EQ(error(0, -2147483649),
            "src -2147483649 of 'register_move' does not fit into the "
            "32 bits of a register.");
}

}  // namespace
}  // namespace neuron_sim
