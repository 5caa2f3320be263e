#include "device/check/operand_overlap.h"

#include "device/isa/reduction/tensor_reduce.h"
#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// tile[:, to : to + n] = tile[:, from : from + n].
std::vector<Finding> shift(int64_t from, int64_t to, int64_t count) {
  Builder builder("shift", trn2());
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.set_source_line("k.py:3");
  builder.emit(TensorCopy{tile.slice(1, to, count), tile.slice(1, from, count)});
  return check(builder, 0);
}

TEST(OperandOverlap, OfOneElementIsFound) {
  const auto found = shift(0, 31, 32);
  ASSERT_EQ(rules_of(found), Rules{"partial-overlap"});
  EXPECT_EQ(found[0].source_line, "k.py:3");
  EXPECT_EQ(found[0].place.bytes->begin, 124);
  EXPECT_EQ(found[0].place.bytes->end, 128);
}

TEST(OperandOverlap, OfNeighboursIsNone) { EXPECT_TRUE(shift(0, 32, 32).empty()); }

TEST(OperandOverlap, OfTheSameElementsIsNone) { EXPECT_TRUE(shift(8, 8, 32).empty()); }

TEST(OperandOverlap, BackwardsIsFound) {
  EXPECT_EQ(rules_of(shift(1, 0, 63)), Rules{"partial-overlap"});
}

TEST(OperandOverlap, OfATransposedPatternIsFound) {
  Builder builder("transposed", trn2());
  const View tile = builder.sbuf("tile", {128, 8, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.emit(TensorCopy{tile, tile.permute({0, 2, 1})});
  EXPECT_EQ(rules_of(check(builder, 0)), Rules{"partial-overlap"});
}

TEST(OperandOverlap, OfAReductionWithItsSourceIsNone) {
  Builder builder("reduction", trn2());
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.emit(TensorReduce{.dst = tile.slice(1, 0, 1), .data = tile});
  EXPECT_TRUE(check(builder, 0).empty());
}

TEST(OperandOverlap, InHbmIsFound) {
  for (const int64_t to : {1, 64}) {
    Builder builder("hbm", trn2());
    const View tensor = builder.argument("tensor", {128, 8}, Dtype::kFloat32);
    builder.emit(DmaCopy{tensor.slice(0, to, 64), tensor.slice(0, 0, 64)});
    EXPECT_EQ(rules_of(check(builder, 1)), to == 1 ? Rules{"partial-overlap"} : Rules{});
  }
}

TEST(OperandOverlap, OnlyTheIterationsThatMeetCount) {
  // Iteration i copies [0, 8) to [8 i, 8 i + 8): the first is the same place, none overlaps partly.
  for (const int64_t step : {8, 4}) {
    Builder builder("iterations", trn2());
    const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
    builder.emit(Memset{tile, 1});
    builder.loop(4, [&](const Affine& i) {
      builder.emit(TensorCopy{tile.slice(1, i * step, 8), tile.slice(1, 0, 8)});
    });
    const auto found = check(builder, 0);
    ASSERT_EQ(rules_of(found), step == 4 ? Rules{"partial-overlap"} : Rules{});
    if (step == 4) {
      EXPECT_EQ(found[0].index, std::vector<int64_t>{1});
    }
  }
}

}  // namespace
}  // namespace neuron_sim
