#include "device/isa/elementwise/reciprocal.h"

#include <cmath>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TEST(Reciprocal, IsCorrectlyRoundedOverDtypesAndPatterns) {
  for (Dtype dtype : {kFp32, kBf16, Dtype::kFloat16}) {
    for (Pattern source : source_patterns()) {
      for (Pattern target : target_patterns()) {
        InstructionBench bench;
        Reciprocal instruction{.dst = pattern_view(bench, target, dtype, "dst"),
                               .data = pattern_view(bench, source, dtype, "data")};
        bench.set(instruction.data, random_values(kPatternValues));
        std::vector<double> expected;
        for (double value : bench.get(instruction.data)) {
          expected.push_back(stored(dtype, 1.0 / value));
        }
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), expected);
      }
    }
  }
}

TEST(Reciprocal, ZeroInfinityDenormalsAndNanFollowIeeeInPlace) {
  InstructionBench bench;
  View x = bench.tile(kSbuf, kFp32, {1, 7}, "x",
                      {0.0, -0.0, INFINITY, -INFINITY, std::nan(""), 0x1p-149, 0x1p127});
  bench.run(Reciprocal{.dst = x, .data = x});
  expect_values(bench.get(x), {INFINITY, -INFINITY, 0.0, -0.0, std::nan(""), INFINITY, 0x1p-127});
}

TEST(Reciprocal, IntegersRoundToNearestEven) {
  InstructionBench bench;
  Reciprocal instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {1, 4}, "dst"),
                         .data = bench.tile(kSbuf, Dtype::kInt32, {1, 4}, "x", {1, 2, -1, 0})};
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {1, 0, -1, 2147483647});
}

TEST(Reciprocal, ChecksEngineShapesAndLimits) {
  InstructionBench bench;
  Reciprocal instruction{.dst = bench.tile(kSbuf, kFp32, {128, 3}, "dst"),
                         .data = bench.tile(kPsum, kFp32, {128, 3}, "data")};
  EXPECT_EQ(bench.error(instruction), "");
  instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(bench.error(instruction),
            "instruction 'reciprocal' cannot run on the GpSimd engine; architecture trn2 has it "
            "on: Vector.");
  instruction.engine = EngineKind::kAuto;
  instruction.data = bench.tile(kSbuf, kFp32, {64, 3}, "data");
  EXPECT_EQ(bench.error(instruction),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (dst[128, "
            "3], data[64, 3]) of 'reciprocal'");
  instruction.data = bench.tile(kSbuf, kFp32, {129, 3}, "data");
  EXPECT_EQ(bench.error(instruction),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'reciprocal', operand 'data', architecture trn2)");
}

TEST(Reciprocal, DemandsTheIterativeRate) {
  InstructionBench bench;
  Reciprocal instruction{.dst = bench.tile(kSbuf, kFp32, {2, 3}, "dst"),
                         .data = bench.tile(kPsum, kFp32, {2, 3}, "data")};
  Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kIterative);
  EXPECT_EQ(step.elements, 3);
  EXPECT_TRUE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
