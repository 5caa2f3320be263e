#include "device/compiler/line/operand_patterns.h"

#include <gtest/gtest.h>

#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// [128, 4, 8] floats, every second column, from byte 64 of partition 32.
Operand strided() {
  Operand operand;
  operand.tile = 3;
  operand.memory = MemoryKind::kSbuf;
  operand.direction = Direction::kReadWrite;
  operand.rank = 2;
  operand.free[0] = {4, 64};
  operand.free[1] = {8, 8};
  operand.partitions = 64;
  operand.partition_stride = 1;
  operand.start_partition = 32;
  operand.offset = 64;
  operand.region = {
      .partition = 32, .partitions = 64, .low = 64, .run = 4, .stride = 8, .count = 32};
  return operand;
}

void expect_same(const Operand& a, const Operand& b) {
  EXPECT_EQ(a.tile, b.tile);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.direction, b.direction);
  EXPECT_EQ(a.indirect, b.indirect);
  EXPECT_EQ(a.register_index, b.register_index);
  EXPECT_EQ(a.index_rows, b.index_rows);
  EXPECT_EQ(a.start_partition, b.start_partition);
  EXPECT_EQ(a.partitions, b.partitions);
  EXPECT_EQ(a.partition_stride, b.partition_stride);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.region, b.region);
  ASSERT_EQ(a.rank, b.rank);
  for (size_t i = 0; i < static_cast<size_t>(a.rank); ++i) {
    EXPECT_EQ(a.free[i].size, b.free[i].size);
    EXPECT_EQ(a.free[i].stride, b.free[i].stride);
  }
}

TEST(OperandPatterns, AnOperandIsWholeAgain) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {.blocks = 6}).build();
    OperandPatterns patterns;
    for (Operand operand : program->operands) {
      const StraightOperand straight = patterns.straight(operand);
      EXPECT_EQ(straight.present(), operand.present());
      EXPECT_EQ(straight.reads(), operand.reads());
      EXPECT_EQ(straight.writes(), operand.writes());
      if (operand.present()) expect_same(patterns.whole(straight), operand);
    }
  }
}

TEST(OperandPatterns, OperandsThatDifferInTheirPlaceAloneHaveOnePattern) {
  OperandPatterns patterns;
  const StraightOperand first = patterns.straight(strided());
  Operand moved = strided();
  moved.tile = 4;
  moved.memory = MemoryKind::kPsum;
  moved.direction = Direction::kRead;
  moved.offset = 128;
  moved.start_partition = 0;
  moved.region.low = 128;
  moved.region.partition = 0;
  const StraightOperand second = patterns.straight(moved);
  EXPECT_EQ(first.pattern, second.pattern);
  expect_same(patterns.whole(second), moved);
  EXPECT_EQ(patterns.region_of(second), moved.region);
}

TEST(OperandPatterns, AnyOtherDifferenceIsAnotherPattern) {
  OperandPatterns patterns;
  const uint32_t pattern = patterns.straight(strided()).pattern;
  const auto other = [&](auto change) {
    Operand operand = strided();
    change(operand);
    return patterns.straight(operand).pattern != pattern;
  };
  EXPECT_TRUE(other([](Operand& each) { each.dtype = Dtype::kInt32; }));
  EXPECT_TRUE(other([](Operand& each) { each.rank = 1; }));
  EXPECT_TRUE(other([](Operand& each) { each.free[1].size = 7; }));
  EXPECT_TRUE(other([](Operand& each) { each.free[0].stride = 128; }));
  EXPECT_TRUE(other([](Operand& each) { each.partitions = 32; }));
  EXPECT_TRUE(other([](Operand& each) { each.partition_stride = 0; }));
  EXPECT_TRUE(other([](Operand& each) { each.indirect = true; }));
  EXPECT_TRUE(other([](Operand& each) { each.register_index = 2; }));
  EXPECT_TRUE(other([](Operand& each) { each.region.exact = false; }));
  EXPECT_FALSE(other([](Operand& each) { each.free[2].size = 5; })) << "beyond its rank";
}

}  // namespace
}  // namespace neuron_sim
