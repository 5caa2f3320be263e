#include "device/isa/random/rng.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

struct EngineCase {
  EngineKind engine;
  int64_t generation;
  EngineState state;
  RandomGenerator generator;
};

const std::vector<EngineCase>& engine_cases() {
  static const std::vector<EngineCase> cases = {
      {EngineKind::kVector, 2, EngineState::kVectorRandom, RandomGenerator::kLinearFeedback},
      {EngineKind::kVector, 3, EngineState::kVectorRandom, RandomGenerator::kLinearFeedback},
      {EngineKind::kVector, 4, EngineState::kVectorRandom, RandomGenerator::kFourXorwow},
      {EngineKind::kGpSimd, 3, EngineState::kGpSimdRandom, RandomGenerator::kXorwow},
      {EngineKind::kGpSimd, 4, EngineState::kGpSimdRandom, RandomGenerator::kXorwow}};
  return cases;
}

TEST(Rng, GivesTheLowBitsOfEachLaneSNumbersOverAccessPatterns) {
  for (const EngineCase& entry : engine_cases()) {
    for (const Dtype dtype : {Dtype::kInt8, Dtype::kInt16, Dtype::kInt32, Dtype::kUint8,
                              Dtype::kUint16, Dtype::kUint32}) {
      for (const Pattern pattern : target_patterns()) {
        InstructionBench bench(random_architecture(entry.generation));
        seed_lanes(bench, entry.state, 3);
        const View dst = pattern_view(bench, pattern, dtype, "dst");
        const std::vector<uint32_t> numbers =
            next_numbers(bench, entry.state, entry.generator, 3, 24);
        bench.run(Rng{.dst = dst, .engine = entry.engine});
        const std::vector<uint32_t> bits = bench.bits(dst);
        const uint32_t mask = 0xFFFFFFFFU >> (32 - 8 * itemsize(dtype));
        for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(bits[i], numbers[i] & mask) << i;
      }
    }
  }
}

TEST(Rng, ASecondInstructionGoesOnWhereTheFirstStopped) {
  for (const EngineCase& entry : engine_cases()) {
    InstructionBench bench(random_architecture(entry.generation));
    seed_lanes(bench, entry.state, 17);
    const View dst = bench.tile(kSbuf, Dtype::kUint32, {128, 8}, "dst");
    const std::vector<uint32_t> numbers =
        next_numbers(bench, entry.state, entry.generator, 128, 16);
    std::vector<std::vector<uint32_t>> halves;
    for (int i = 0; i < 2; ++i) {
      bench.run(Rng{.dst = dst, .engine = entry.engine});
      halves.push_back(bench.bits(dst));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(halves[i % 16 / 8][i / 16 * 8 + i % 8], numbers[i]);
    }
  }
}

TEST(Rng, ChecksEngineGenerationDtypeAndSize) {
  InstructionBench bench(random_architecture(2));
  const auto error = [&](const Rng& rng) { return bench.error(rng); };
  const View dst = bench.tile(kSbuf, Dtype::kUint32, {2, 3}, "dst");
  EXPECT_EQ(error({.dst = dst}), "");
  EXPECT_EQ(error({.dst = dst, .engine = EngineKind::kGpSimd}),
            "instruction 'rng on GpSimd' needs NeuronCore-v3 or newer; architecture trn1 is a "
            "NeuronCore-v2.");
  EXPECT_EQ(bench.error_kind(Rng{.dst = dst, .engine = EngineKind::kGpSimd}),
            ErrorKind::kNotImplemented);
  EXPECT_EQ(error({.dst = dst, .engine = EngineKind::kScalar}),
            "instruction 'rng' cannot run on the Scalar engine; architecture trn1 has it on: "
            "Vector, GpSimd.");
  for (const Dtype dtype : {Dtype::kBool, kFp32, kBf16}) {
    EXPECT_EQ(error({.dst = bench.tile(kSbuf, dtype, {2, 3}, "dst")}),
              text("dtype ", name(dtype), " of operand 'dst' of 'rng' is not supported; expected ",
                   "an integer of 8, 16 or 32 bits."));
  }
  EXPECT_EQ(error({.dst = bench.tile(kSbuf, Dtype::kUint8, {128, 65536}, "dst")}), "");
  EXPECT_EQ(error({.dst = bench.tile(kSbuf, Dtype::kUint8, {1, 65537}, "dst")}),
            "number of elements per partition 65537 in 'dst[1, 65537]' of 'rng' exceed "
            "architecture limitation of 65536 in sbuf. (instruction 'rng', operand 'dst', "
            "architecture trn1)");
  bench.architecture() = random_architecture(3);
  EXPECT_EQ(error({.dst = dst, .engine = EngineKind::kGpSimd}), "");
  EXPECT_EQ(error({.dst = bench.tile(kPsum, Dtype::kUint32, {2, 3}, "dst"),
                   .engine = EngineKind::kGpSimd}),
            "Expected operand 'dst' of 'rng' to be in address space 'sbuf', but got a tile in "
            "'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(Rng, DemandsACopySWorkWithoutASource) {
  InstructionBench bench;
  const View dst = bench.tile(kPsum, Dtype::kUint32, {128, 3, 4}, "dst");
  const Step vector = bench.demand(Rng{.dst = dst}).steps[0];
  EXPECT_EQ(vector.rate, RateClass::kOneInput);
  EXPECT_EQ(vector.elements, 12);
  EXPECT_FALSE(vector.source_psum);
  const View sbuf = bench.tile(kSbuf, Dtype::kUint32, {128, 5}, "dst");
  EXPECT_EQ(bench.demand(Rng{sbuf, EngineKind::kGpSimd}).steps[0].rate, RateClass::kGpSimdOneInput);
}

}  // namespace
}  // namespace neuron_sim
