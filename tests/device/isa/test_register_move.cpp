#include <gtest/gtest.h>

#include "device/isa/register_move.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(RegisterMove, WritesTheImmediate) {
  InstructionBench bench;
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{-2147483648}, int64_t{4294967295}}) {
    bench.run(kRegisterMove, RegisterMove{.register_index = 63, .immediate = value}.draft());
    EXPECT_EQ(bench.registers().values[63], value);
    EXPECT_EQ(bench.registers().values[62], 0);
  }
}

TEST(RegisterMove, RunsOnTheSequencerOfAnyEngineAndOnSyncByDefault) {
  InstructionBench bench;
  EXPECT_EQ(bench.prepare(kRegisterMove, RegisterMove{}.draft()).engine, EngineKind::kSync);
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const Draft draft = RegisterMove{.engine = static_cast<EngineKind>(engine)}.draft();
    EXPECT_EQ(bench.prepare(kRegisterMove, draft).engine, static_cast<EngineKind>(engine));
    const Demand demand = bench.demand(kRegisterMove, draft);
    ASSERT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kSequencer);
  }
}

TEST(RegisterMove, ReportsRegistersAndImmediatesOutOfRange) {
  InstructionBench bench;
  const auto error = [&](int64_t index, int64_t value) {
    return bench.error(kRegisterMove,
                       RegisterMove{.register_index = index, .immediate = value}.draft());
  };
  EXPECT_EQ(error(63, 0), "");
  EXPECT_EQ(error(64, 0),
            "register 64 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(-1, 0),
            "register -1 of 'register_move' does not exist; a sequencer of "
            "architecture trn2 has 64 registers.");
  EXPECT_EQ(error(0, 4294967296),
            "immediate 4294967296 of 'register_move' does not fit into the 32 "
            "bits of a register.");
  EXPECT_EQ(error(0, -2147483649),
            "immediate -2147483649 of 'register_move' does not fit into the "
            "32 bits of a register.");
}

}  // namespace
}  // namespace neuron_sim
