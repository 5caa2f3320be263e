#include "device/isa/iota.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr auto kSbuf = MemoryKind::kSbuf;

TEST(Iota, follows_the_affine_pattern_of_four_free_dimensions) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {3, 2, 3, 4, 5}, "dst"),
                   .offset = 7,
                   .channel_multiplier = 1000,
                   .steps = {-100, 20, 0, 3}};
  bench.run(kIota, instruction.draft());
  std::vector<double> expected;
  for (int p = 0; p < 3; ++p)
    for (int w = 0; w < 2; ++w)
      for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 4; ++y)
          for (int x = 0; x < 5; ++x) expected.push_back(7 + 1000 * p - 100 * w + 20 * z + 3 * x);
  expect_values(bench.get(instruction.dst), expected);
}

TEST(Iota, casts_to_every_dtype_over_strided_targets) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern pattern : {Pattern::kDense, Pattern::kEveryOther, Pattern::kPartitionOffset}) {
      InstructionBench bench;
      Iota instruction{.dst = pattern_view(bench, pattern, dtype, "dst"),
                       .offset = -5,
                       .channel_multiplier = 16,
                       .steps = {1}};
      bench.run(kIota, instruction.draft());
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

TEST(Iota, arithmetic_wraps_at_32_bits_and_large_values_are_exact) {
  InstructionBench bench;
  Iota instruction{
      .dst = bench.tile(kSbuf, Dtype::kInt32, {1, 3}, "dst"), .offset = 2147483646, .steps = {1}};
  bench.run(kIota, instruction.draft());
  expect_values(bench.get(instruction.dst), {2147483646, 2147483647, -2147483648.0});
  instruction.offset = 16777216;
  bench.run(kIota, instruction.draft());
  expect_values(bench.get(instruction.dst), {16777216, 16777217, 16777218});
  instruction.dst = bench.tile(kSbuf, Dtype::kFloat32, {1, 3}, "dst");
  bench.run(kIota, instruction.draft());
  expect_values(bench.get(instruction.dst), {16777216, 16777216, 16777218});
}

TEST(Iota, attributes_engine_and_memory_are_checked) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {2, 3}, "dst"), .offset = 2147483648};
  EXPECT_EQ(bench.error(kIota, instruction.draft()), "offset 2147483648 of 'iota' exceeds int32.");
  instruction.offset = 2147483647;
  EXPECT_EQ(bench.error(kIota, instruction.draft()), "");
  instruction.steps = {1, 2};
  EXPECT_EQ(bench.error(kIota, instruction.draft()),
            "step1 2 of 'iota' has no dimension: operand 'dst' is dst[2, 3].");
  instruction.steps = {1};
  instruction.engine = EngineKind::kVector;
  EXPECT_EQ(bench.error(kIota, instruction.draft()),
            "instruction 'iota' cannot run on the Vector engine; architecture trn2 has it on: "
            "GpSimd.");
  instruction = {.dst = bench.tile(MemoryKind::kPsum, Dtype::kInt32, {2, 3}, "dst")};
  EXPECT_EQ(bench.error(kIota, instruction.draft()),
            "Expected operand 'dst' of 'iota' to be in address space 'sbuf', but got a tile in "
            "'psum' instead. The GpSimd engine cannot access PSUM.");
  instruction = {.dst = bench.tile(kSbuf, Dtype::kInt32, {129, 3}, "dst")};
  EXPECT_EQ(bench.error(kIota, instruction.draft()),
            "number of partitions 129 exceed architecture limitation of 128. (instruction 'iota', "
            "operand 'dst', architecture trn2)");
}

TEST(Iota, demands_gpsimd_work_without_a_source) {
  InstructionBench bench;
  Iota instruction{.dst = bench.tile(kSbuf, Dtype::kInt32, {128, 3, 4}, "dst")};
  Step step = bench.demand(kIota, instruction.draft()).steps[0];
  EXPECT_EQ(step.rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(step.elements, 12);
  EXPECT_FALSE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
