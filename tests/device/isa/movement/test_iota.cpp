#include "device/isa/movement/iota.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TEST(Iota, FollowsTheAffinePatternOfFourFreeDimensions) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {3, 2, 3, 4, 5}, "dst"),
                   .pattern = {{-100, 2}, {20, 3}, {0, 4}, {3, 5}},
                   .offset = 7,
                   .channel_multiplier = 1000};
  bench.run(instruction);
  std::vector<double> expected;
  for (int p = 0; p < 3; ++p)
    for (int w = 0; w < 2; ++w)
      for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 4; ++y)
          for (int x = 0; x < 5; ++x) expected.push_back(7 + 1000 * p - 100 * w + 20 * z + 3 * x);
  expect_values(bench.get(instruction.dst), expected);
}

TEST(Iota, ThePatternSSizesAreIndependentOfTheShapeOfDst) {
  InstructionBench bench;
  const View dst = bench.tile(kSbuf, Dtype::kInt32, {2, 4, 3}, "dst");
  bench.run(Iota{.dst = dst, .pattern = {{10, 6}, {1, 2}}, .channel_multiplier = 100});
  std::vector<double> expected;
  for (int p = 0; p < 2; ++p)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 2; ++j) expected.push_back(100 * p + 10 * i + j);
  expect_values(bench.get(dst), expected);
  const View one = bench.tile(kSbuf, Dtype::kInt32, {3, 1}, "one");
  bench.run(Iota{.dst = one, .offset = -1, .channel_multiplier = 2});
  expect_values(bench.get(one), {-1, 1, 3});
}

TEST(Iota, CastsToEveryDtypeOverStridedTargets) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern pattern : {Pattern::kDense, Pattern::kEveryOther, Pattern::kPartitionOffset}) {
      InstructionBench bench;
      Iota instruction{.dst = pattern_view(bench, pattern, dtype, "dst"),
                       .pattern = {{1, 24}},
                       .offset = -5,
                       .channel_multiplier = 16};
      bench.run(instruction);
      std::vector<double> expected;
      for (int p = 0; p < 3; ++p) {
        for (int i = 0; i < 24; ++i) {
          double value = -5 + 16 * p + i;
          expected.push_back(dtype == Dtype::kBool ? value > 0 : stored(dtype, value));
        }
      }
      SCOPED_TRACE(std::string(name(dtype)));
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(Iota, ArithmeticWrapsAt32BitsAndLargeValuesAreExact) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {1, 3}, "dst"),
                   .pattern = {{1, 3}},
                   .offset = 2147483646};
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {2147483646, 2147483647, -2147483648.0});
  instruction.offset = 16777216;
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {16777216, 16777217, 16777218});
  instruction.dst = bench.tile(kSbuf, kFp32, {1, 3}, "dst");
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {16777216, 16777216, 16777218});
}

TEST(Iota, NumbersAreInt32) {
  InstructionBench bench;
  Iota good{.dst = bench.tile(kSbuf, Dtype::kInt32, {2, 3}, "dst"), .pattern = {{1, 3}}};
  const auto error = [&](const Iota& instruction) { return bench.error(instruction); };
  Iota instruction = good;
  for (const int64_t edge : {int64_t{2147483647}, int64_t{-2147483648}}) {
    const int64_t beyond = edge < 0 ? edge - 1 : edge + 1;
    instruction = good;
    instruction.offset = edge;
    EXPECT_EQ(error(instruction), "");
    instruction.offset = beyond;
    EXPECT_EQ(error(instruction), text("offset ", beyond, " of 'iota' exceeds int32."));
    instruction = good;
    instruction.channel_multiplier = beyond;
    EXPECT_EQ(error(instruction), text("channel_multiplier ", beyond, " of 'iota' exceeds int32."));
    instruction = good;
    instruction.pattern = {{edge, 3}};
    EXPECT_EQ(error(instruction), "");
    instruction.pattern = {{beyond, 3}};
    EXPECT_EQ(error(instruction), text("step0 ", beyond, " of 'iota' exceeds int32."));
  }
}

TEST(Iota, ThePatternHasTheElementsOfAPartition) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {2, 3}, "dst")};
  const auto error = [&](const IndexPattern& pattern) {
    instruction.pattern = pattern;
    try {
      return bench.error(instruction);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(error({{1, 1}, {1, 1}, {1, 1}, {1, 3}}), "");
  EXPECT_EQ(error({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 3}}),
            "pattern of 'iota' has 5 dimensions; an access pattern has up to 4.");
  EXPECT_EQ(error({{1, 2}}),
            "pattern of 'iota' has 2 elements, but operand 'dst' has 3 per partition: dst[2, 3].");
  EXPECT_EQ(error({{1, 2}, {1, 2}}),
            "pattern of 'iota' has 4 elements, but operand 'dst' has 3 per partition: dst[2, 3].");
  EXPECT_EQ(error({{1, 3}, {1, 0}}),
            "size1 0 of the pattern of 'iota' must be from 1 to the 3 elements per partition of "
            "operand 'dst'.");
  EXPECT_EQ(error({{1, 4}}),
            "size0 4 of the pattern of 'iota' must be from 1 to the 3 elements per partition of "
            "operand 'dst'.");
}

TEST(Iota, EngineAndMemoryAreChecked) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {2, 3}, "dst"), .pattern = {{1, 3}}};
  instruction.engine = EngineKind::kVector;
  EXPECT_EQ(bench.error(instruction),
            "instruction 'iota' cannot run on the Vector engine; architecture trn2 has it on: "
            "GpSimd.");
  instruction = {.dst = bench.tile(kPsum, Dtype::kInt32, {2, 3}, "dst")};
  EXPECT_EQ(bench.error(instruction),
            "Expected operand 'dst' of 'iota' to be in address space 'sbuf', but got a tile in "
            "'psum' instead. The GpSimd engine cannot access PSUM.");
  instruction = {.dst = bench.tile(kSbuf, Dtype::kInt32, {129, 3}, "dst")};
  EXPECT_EQ(bench.error(instruction),
            "number of partitions 129 exceed architecture limitation of 128. (instruction 'iota', "
            "operand 'dst', architecture trn2)");
}

TEST(Iota, DemandsGpsimdWorkWithoutASource) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {128, 3, 4}, "dst"),
                   .pattern = {{1, 12}}};
  Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(step.elements, 12);
  EXPECT_FALSE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
