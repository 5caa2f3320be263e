#include "device/isa/random/dropout.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

bool drops(uint32_t number, double prob) { return std::floor(number / 256.0) / 16777216 < prob; }

TEST(Dropout, ZeroesWhatIsDrawnAndCopiesTheRestBitForBit) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern source : source_patterns()) {
      for (const Pattern target : target_patterns()) {
        InstructionBench bench;
        seed_lanes(bench, EngineState::kVectorRandom, 8);
        const auto numbers = next_numbers(bench, EngineState::kVectorRandom,
                                          RandomGenerator::kLinearFeedback, 3, 24);
        const View data = pattern_view(bench, source, dtype, "data", kPsum);
        const View dst = pattern_view(bench, target, dtype, "dst");
        fill_random(bench, data, 5, 1, 100);
        std::vector<uint32_t> expected = bench.bits(data);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (drops(numbers[i], 0.375)) expected[i] = 0;
        }
        bench.run(Dropout{.dst = dst, .data = data, .prob = 0.375});
        ASSERT_EQ(bench.bits(dst), expected) << name(dtype);
      }
    }
  }
}

TEST(Dropout, KeepsLargeIntegersNanPayloadsAndTheSignOfZero) {
  InstructionBench bench;
  for (const Dtype dtype : {Dtype::kInt32, kFp32}) {
    const View data = bench.tile(kSbuf, dtype, {1, 4}, "data");
    const std::vector<uint32_t> bits = {0x7FFFFFFFU, 0x01000001U, 0xFFC12345U, 0x80000000U};
    bench.set_bits(data, bits);
    bench.run(Dropout{.dst = data, .data = data});
    EXPECT_EQ(bench.bits(data), bits);
    bench.run(Dropout{.dst = data, .data = data, .prob = 1});
    EXPECT_EQ(bench.bits(data), (std::vector<uint32_t>{0, 0, 0, 0}));
  }
}

TEST(Dropout, TakesAProbabilityPerPartition) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kFloat16, Dtype::kFloat8E4m3}) {
    InstructionBench bench;
    seed_lanes(bench, EngineState::kVectorRandom, 8);
    const auto numbers =
        next_numbers(bench, EngineState::kVectorRandom, RandomGenerator::kLinearFeedback, 6, 40);
    const std::vector<double> probabilities = {0.5, 0, 1, -1, 7, NAN};
    const View dst = bench.tile(kSbuf, kFp32, {6, 40}, "dst", std::vector<double>(240, 3));
    const View prob = bench.tile(kSbuf, dtype, {6, 1}, "prob", probabilities);
    bench.run(Dropout{.dst = dst, .data = dst, .prob_tile = prob});
    std::vector<double> expected;
    for (size_t i = 0; i < 240; ++i) {
      expected.push_back(drops(numbers[i], probabilities[i / 40]) ? 0 : 3);
    }
    expect_values(bench.get(dst), expected);
  }
}

TEST(Dropout, DropsTheShareItIsAskedForAndRepeatsWithTheState) {
  for (const int64_t generation : {2, 4}) {
    for (const double prob : {0.1, 0.5, 0.9}) {
      InstructionBench bench(random_architecture(generation));
      const View ones = bench.tile(kSbuf, kFp32, {128, 4096}, "ones");
      bench.set(ones, std::vector<double>(128 * 4096, 1));
      const View dst = bench.tile(kSbuf, kFp32, {128, 4096}, "dst");
      const Dropout dropout{.dst = dst, .data = ones, .prob = prob};
      seed_lanes(bench, EngineState::kVectorRandom, 77);
      bench.run(dropout);
      const std::vector<double> first = bench.get(dst);
      double kept = 0;
      for (const double value : first) kept += value;
      const double count = 128 * 4096;
      EXPECT_LT(std::abs(kept / count - (1 - prob)), 5 * std::sqrt(prob * (1 - prob) / count));
      bench.run(dropout);
      EXPECT_NE(bench.get(dst), first);
      seed_lanes(bench, EngineState::kVectorRandom, 77);
      bench.run(dropout);
      EXPECT_EQ(bench.get(dst), first);
    }
  }
}

TEST(Dropout, ChecksDtypesProbabilityAndEngine) {
  InstructionBench bench;
  const auto error = [&](const Dropout& dropout) { return bench.error(dropout); };
  const View data = bench.tile(kSbuf, kFp32, {2, 3}, "data");
  const View integers = bench.tile(kSbuf, Dtype::kInt8, {2, 3}, "integers");
  const View half = bench.tile(kSbuf, Dtype::kFloat16, {2, 1}, "half");
  EXPECT_EQ(error({.dst = data, .data = data, .prob = 1}), "");
  EXPECT_EQ(error({.dst = data, .data = data, .prob = 1.5}),
            "prob 1.5 of 'dropout' must be a probability from 0 to 1.");
  EXPECT_EQ(error({.dst = data, .data = data, .prob = NAN}),
            "prob nan of 'dropout' must be a probability from 0 to 1.");
  EXPECT_EQ(error({.dst = integers, .data = data}),
            "dtype int8 of operand 'dst' of 'dropout' is not supported; expected float32, the "
            "dtype of operand 'data'.");
  EXPECT_EQ(error({.dst = data, .data = data, .prob_tile = half}), "");
  EXPECT_EQ(error({.dst = integers, .data = integers, .prob_tile = half}),
            "dtype float16 of operand 'prob' of 'dropout' is not supported; expected float32 for "
            "integer data.");
  EXPECT_EQ(error({.dst = data, .data = data, .prob_tile = integers.slice(1, 0, 1)}),
            "dtype int8 of operand 'prob' of 'dropout' is not supported; expected a floating "
            "dtype.");
  EXPECT_EQ(error({.dst = data, .data = data, .prob_tile = data}),
            "operand 'prob[2, 3]' of 'dropout' must have one element per partition, but it has 3.");
  EXPECT_EQ(error({.dst = data, .data = data, .engine = EngineKind::kGpSimd}),
            "instruction 'dropout' cannot run on the GpSimd engine; architecture trn2 has it on: "
            "Vector.");
}

TEST(Dropout, DemandsOnePassOverTheData) {
  InstructionBench bench;
  Dropout dropout{.dst = bench.tile(kSbuf, kFp32, {2, 30}, "dst"),
                  .data = bench.tile(kPsum, kFp32, {2, 30}, "data")};
  const Step step = bench.demand(dropout).steps[0];
  EXPECT_EQ(step.rate, RateClass::kOneInput);
  EXPECT_EQ(step.elements, 30);
  EXPECT_TRUE(step.source_psum);
  EXPECT_FALSE(step.pointer_operand);
  dropout.prob_tile = bench.tile(kSbuf, kFp32, {2, 1}, "prob");
  EXPECT_TRUE(bench.demand(dropout).steps[0].pointer_operand);
}

}  // namespace
}  // namespace neuron_sim
