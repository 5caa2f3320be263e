#include "device/isa/random/rand2.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

/// min + u (max - min) with u of the upper 24 bits, every operation rounded to fp32.
double expected_value(uint32_t number, double min, double max) {
  const double range = round_to(kFp32, max - min);
  const double unit = std::floor(number / 256.0) / 16777216.0;
  return round_to(kFp32, round_to(kFp32, unit * range) + min);
}

TEST(Rand2, IsUniformBetweenMinAndMaxForEveryDtypeAndPattern) {
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == Dtype::kBool) continue;
    for (const Pattern pattern : target_patterns()) {
      InstructionBench bench(random_architecture(4));
      seed_lanes(bench, EngineState::kVectorRandom, 11);
      const auto numbers =
          next_numbers(bench, EngineState::kVectorRandom, RandomGenerator::kFourXorwow, 3, 24);
      const View dst = pattern_view(bench, pattern, dtype, "dst", kPsum);
      bench.run(Rand2{.dst = dst, .min = -3.5, .max = 100});
      std::vector<double> expected;
      for (const uint32_t number : numbers) {
        expected.push_back(stored(dtype, expected_value(number, -3.5, 100)));
      }
      SCOPED_TRACE(std::string(name(dtype)));
      expect_values(bench.get(dst), expected);
    }
  }
}

TEST(Rand2, TakesLimitsPerPartition) {
  InstructionBench bench(random_architecture(4));
  seed_lanes(bench, EngineState::kVectorRandom, 11);
  const auto numbers =
      next_numbers(bench, EngineState::kVectorRandom, RandomGenerator::kFourXorwow, 3, 5);
  const std::vector<double> low = {-1, 5, 2}, high = {1, 5.5, NAN};
  const Rand2 instruction{.dst = bench.tile(kSbuf, kFp32, {3, 5}, "dst"),
                          .min_tile = bench.tile(kSbuf, kFp32, {3, 1}, "low", low),
                          .max_tile = bench.tile(kPsum, kFp32, {3, 1}, "high", high)};
  bench.run(instruction);
  std::vector<double> expected;
  for (size_t i = 0; i < 15; ++i) {
    expected.push_back(expected_value(numbers[i], low[i / 5], high[i / 5]));
  }
  expect_values(bench.get(instruction.dst), expected);
}

TEST(Rand2, HasTheMeanAndVarianceOfItsRange) {
  InstructionBench bench(random_architecture(4));
  seed_lanes(bench, EngineState::kVectorRandom, 2026);
  const View dst = bench.tile(kSbuf, kFp32, {128, 4096}, "dst");
  bench.run(Rand2{.dst = dst, .min = 2, .max = 6});
  double sum = 0, squares = 0;
  for (const double value : bench.get(dst)) {
    ASSERT_TRUE(value >= 2 && value <= 6);
    sum += value - 4;
    squares += (value - 4) * (value - 4);
  }
  const double count = 128 * 4096, variance = 16.0 / 12;
  EXPECT_LT(std::abs(sum / count), 5 * std::sqrt(variance / count));
  EXPECT_LT(std::abs(squares / count - variance), 5 * 16 * std::sqrt(1.0 / 180 / count));
}

TEST(Rand2, ChecksGenerationLimitsAndDtypes) {
  InstructionBench bench(random_architecture(4));
  const auto error = [&](const Rand2& rand2) { return bench.error(rand2); };
  const View dst = bench.tile(kSbuf, kFp32, {2, 3}, "dst");
  EXPECT_EQ(error({.dst = dst}), "");
  EXPECT_EQ(error({.dst = dst, .min = 1, .max = 1}), "min 1 of 'rand2' must be less than max 1.");
  EXPECT_EQ(error({.dst = dst, .min = 0, .max = NAN}),
            "min 0 of 'rand2' must be less than max nan.");
  EXPECT_EQ(error({.dst = bench.tile(kSbuf, Dtype::kBool, {2, 3}, "dst")}),
            "dtype bool_ of operand 'dst' of 'rand2' is not supported; expected any dtype but "
            "bool_.");
  EXPECT_EQ(error({.dst = dst, .min_tile = dst}),
            "operand 'min[2, 3]' of 'rand2' must have one element per partition, but it has 3.");
  EXPECT_EQ(error({.dst = dst, .max_tile = bench.tile(kSbuf, kBf16, {2, 1}, "max")}),
            "dtype bfloat16 of operand 'max' of 'rand2' is not supported; expected float32.");
  EXPECT_EQ(error({.dst = dst, .engine = EngineKind::kGpSimd}),
            "instruction 'rand2' cannot run on the GpSimd engine; architecture trn3 has it on: "
            "Vector.");
  bench.architecture() = random_architecture(3);
  EXPECT_EQ(error({.dst = dst}),
            "instruction 'rand2' needs NeuronCore-v4 or newer; architecture trn2 is a "
            "NeuronCore-v3.");
}

TEST(Rand2, DemandsItsOwnRate) {
  InstructionBench bench(random_architecture(4));
  Rand2 instruction{.dst = bench.tile(kPsum, kFp32, {128, 40}, "dst")};
  Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kUniformRandom);
  EXPECT_EQ(step.elements, 40);
  EXPECT_FALSE(step.source_psum || step.pointer_operand);
  instruction.min_tile = bench.tile(kSbuf, kFp32, {128, 1}, "min");
  EXPECT_TRUE(bench.demand(instruction).steps[0].pointer_operand);
}

}  // namespace
}  // namespace neuron_sim
