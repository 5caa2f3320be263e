#include "device/compiler/line/straight_line.h"

#include "device/isa/sequencing/register_move.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

std::shared_ptr<const Program> random_program(uint64_t seed, const Architecture& architecture,
                                              bool undefined_reads = true) {
  RandomProgramOptions options{.blocks = 6, .undefined_reads = undefined_reads};
  return RandomProgram(seed, architecture, options).build();
}

TEST(StraightLine, UnrollingChangesNeitherBytesNorTimes) {
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    for (uint64_t seed = 0; seed < 25; ++seed) {
      const auto program = random_program(seed, load_architecture(name));
      Unrolled unrolled = unroll(*program);
      ASSERT_TRUE(unrolled.line) << unrolled.reason;
      const auto straight = lower(std::move(*unrolled.line));
      EXPECT_TRUE(straight->loops.empty());
      EXPECT_EQ(bytes_after(program), bytes_after(straight)) << name << ", seed " << seed;
      const Timing before = simulate(*program), after = simulate(*straight);
      EXPECT_EQ(before.body.count, after.body.count) << name << ", seed " << seed;
      EXPECT_EQ(before.instances, after.instances);
    }
  }
}

TEST(StraightLine, AnInstanceStatesTheDemandOfItsInstruction) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const auto program = random_program(seed, trn2());
    StraightLine line = *unroll(*program).line;
    for (StraightInstruction& instance : line.instructions) {
      EXPECT_TRUE(is_legal(line, instance)) << instance.instruction.type->name;
      renew_demand(line, instance);
      for (Operand operand : line.whole_operands_of(instance)) {
        if (!operand.present()) continue;
        const Region before = operand.region;
        renew_region(line, operand);
        EXPECT_EQ(before, operand.region);
      }
    }
    EXPECT_EQ(simulate(*program).body.count, simulate(*lower(line)).body.count) << seed;
  }
}

TEST(StraightLine, InstancesKnowTheirStatementAndIteration) {
  Builder builder("nest", trn2());
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32, 3);
  builder.loop(2, [&](const Affine& i) {
    builder.emit(Memset{tile.turn(i), 1});
    builder.loop(3, [&](const Affine& j) { builder.emit(Memset{tile.turn(i + j), 2}); });
  });
  const StraightLine line = *unroll(*builder.finish()).line;
  ASSERT_EQ(line.instructions.size(), 8U);
  const StraightInstruction& last = line.instructions.back();
  EXPECT_EQ(last.statement, 1U);
  const Nest& nest = line.nest_of(last);
  EXPECT_EQ(nest.depth, 2);
  EXPECT_EQ(nest.iteration[0], 1);
  EXPECT_EQ(nest.iteration[1], 2);
  EXPECT_EQ(line.operands_of(last)[0].tile, tile.tile());  // (1 + 2) mod 3
  EXPECT_EQ(line.instructions[4].statement, 0U);
  EXPECT_EQ(line.operands_of(line.instructions[4])[0].tile, tile.tile() + 1);
}

TEST(StraightLine, ExactlyTheMaximumIsUnrolledAndOneMoreIsNot) {
  Builder builder("long", trn2());
  const View tile = builder.sbuf("tile", {1, 1}, Dtype::kFloat32);
  builder.loop(7, [&](const Affine&) {
    builder.loop(11, [&](const Affine&) { builder.emit(Memset{tile, 1}); });
  });
  const auto program = builder.finish();
  EXPECT_TRUE(unroll(*program, 0, 77).line);
  const Unrolled refused = unroll(*program, 0, 76);
  EXPECT_FALSE(refused.line);
  EXPECT_EQ(refused.reason,
            "its 77 instances are more than the 76 that the compiler's passes unroll");
}

TEST(StraightLine, RegistersAreRefusedWithAReason) {
  Builder registers("registers", trn2());
  const View tile = registers.sbuf("tile", {1, 1}, Dtype::kFloat32);
  registers.loop_register(EngineKind::kVector, registers.allocate_register(), 4,
                          [&](const Affine&) {
                            registers.emit(Memset{tile, 1});
                          });
  const auto by_register = registers.finish();
  EXPECT_EQ(unroll(*by_register).reason, "its loops or addresses depend on registers");
}

TEST(StraightLine, TheInstancesOfBothCoresCountTogether) {
  Builder builder("cores", trn2());
  for (const int core : {0, 1}) {
    builder.core(core, [&] {
      const View tile = builder.sbuf("tile", {1, 1}, Dtype::kFloat32);
      builder.loop(5 + core, [&](const Affine&) { builder.emit(Memset{tile, 1}); });
    });
  }
  const auto program = builder.finish();
  EXPECT_EQ(unroll(*program, 0, 11).line->instructions.size(), 5U);
  EXPECT_EQ(unroll(*program, 1, 11).line->instructions.size(), 6U);
  EXPECT_FALSE(unroll(*program, 0, 10).line);
}

TEST(StraightLine, MovingAnOperandKeepsItsPlaceWithinTheTile) {
  Builder builder("move", trn2());
  builder.sbuf("gap", {128, 100}, Dtype::kFloat32);
  const View from = builder.sbuf("from", {128, 16}, Dtype::kFloat32);
  const View to = builder.place(MemoryKind::kSbuf, "to", {64, 16}, Dtype::kFloat32, 4096, 32);
  builder.emit(Memset{from.slice(0, 32, 32).slice(1, 4, 8), 1});
  builder.emit(Memset{to, 1});
  StraightLine line = *unroll(*builder.finish()).line;
  StraightOperand& moved = line.operands[line.instructions[0].instruction.first_operand];
  const View before = view_of(line, line.whole(moved));
  move_to_tile(line, moved, to.tile());
  Operand operand = line.whole(moved);
  EXPECT_EQ(operand.offset, 4096 + 16);
  EXPECT_EQ(operand.start_partition, 64);
  const View after = view_of(line, operand);
  EXPECT_EQ(before.offset().constant(), after.offset().constant());
  EXPECT_EQ(before.partition().constant(), after.partition().constant());
  const Region region = operand.region;
  renew_region(line, operand);
  EXPECT_EQ(region, operand.region);
}

}  // namespace
}  // namespace neuron_sim
