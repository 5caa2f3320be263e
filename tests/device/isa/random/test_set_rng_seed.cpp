#include "device/isa/random/set_rng_seed.h"

#include "device/isa/random/rng.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

TEST(SetRngSeed, OneSeedGivesTheSameNumbersAgainAndAnotherOthers) {
  for (const int64_t generation : {2, 3, 4}) {
    InstructionBench bench(random_architecture(generation));
    const View dst = bench.tile(kSbuf, Dtype::kUint32, {128, 9}, "dst");
    const View seed = bench.tile(kPsum, Dtype::kUint32, {1, 1}, "seed");
    const auto draw = [&](uint32_t value) {
      bench.set_bits(seed, {value});
      bench.run(SetRngSeed{seed});
      bench.run(Rng{dst});
      return bench.bits(dst);
    };
    const std::vector<uint32_t> first = draw(42), other = draw(43);
    EXPECT_EQ(draw(42), first);
    size_t equal = 0;
    for (size_t i = 0; i < first.size(); ++i) equal += first[i] == other[i] ? 1 : 0;
    EXPECT_LE(equal, 1U) << "numbers of two seeds";
  }
}

TEST(SetRngSeed, SeedsAllLanesFromTheBitsOfAnyDtypeOf32Bits) {
  for (const Dtype dtype : {Dtype::kInt32, Dtype::kUint32, kFp32, Dtype::kTfloat32}) {
    InstructionBench bench;
    const View tile = bench.tile(kSbuf, dtype, {128, 3}, "tile");
    const View seed = tile.slice(0, 32, 1).slice(1, 2, 1);
    bench.set_bits(seed, {0xC0490FDBU});
    bench.run(SetRngSeed{seed});
    const std::vector<uint32_t> state = bench.bits(engine_state(EngineState::kVectorRandom, 128));
    seed_lanes(bench, EngineState::kVectorRandom, 0xC0490FDBU);
    EXPECT_EQ(state, bench.bits(engine_state(EngineState::kVectorRandom, 128)));
  }
}

TEST(SetRngSeed, ChecksShapeDtypeAndEngine) {
  InstructionBench bench;
  const auto error = [&](const SetRngSeed& instruction) { return bench.error(instruction); };
  EXPECT_EQ(error({bench.tile(kSbuf, Dtype::kUint32, {1, 1}, "seed")}), "");
  EXPECT_EQ(error({bench.tile(kSbuf, Dtype::kUint32, {1, 2}, "seed")}),
            "operand 'src_seeds' of 'set_rng_seed' must be a [1, 1] tile, but it is seed[1, 2].");
  EXPECT_EQ(error({bench.tile(kSbuf, Dtype::kUint32, {2, 1}, "seed")}),
            "operand 'src_seeds' of 'set_rng_seed' must be a [1, 1] tile, but it is seed[2, 1].");
  EXPECT_EQ(error({bench.tile(kSbuf, Dtype::kInt16, {1, 1}, "seed")}),
            "dtype int16 of operand 'src_seeds' of 'set_rng_seed' is not supported; expected a "
            "dtype of 32 bits.");
  EXPECT_EQ(error({bench.tile(kSbuf, Dtype::kUint32, {1, 1}, "seed"), EngineKind::kGpSimd}),
            "instruction 'set_rng_seed' cannot run on the GpSimd engine; architecture trn2 has it "
            "on: Vector.");
}

TEST(SetRngSeed, DemandsTheWorkOfOneElement) {
  InstructionBench bench;
  const SetRngSeed instruction{bench.tile(kPsum, Dtype::kUint32, {1, 1}, "seed")};
  const Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.elements, 1);
  EXPECT_TRUE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
