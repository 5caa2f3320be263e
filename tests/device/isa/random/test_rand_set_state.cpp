#include "device/isa/random/rand_set_state.h"

#include "device/isa/random/rng.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

TEST(RandSetState, LoadsTheWordsOfTheLanesItHasPartitionsFor) {
  InstructionBench bench;
  const View lanes = engine_state(EngineState::kGpSimdRandom, 128);
  seed_lanes(bench, EngineState::kGpSimdRandom, 1);
  std::vector<uint32_t> expected = bench.bits(lanes), words;
  for (uint32_t i = 0; i < 5 * 6; ++i) words.push_back(0x80000000U + i * 7919);
  std::copy(words.begin(), words.end(), expected.begin());
  const View wide = bench.tile(kSbuf, Dtype::kUint32, {128, 12}, "words");
  const View source = wide.slice(0, 64, 5).slice(1, 0, 6, 2);
  bench.set_bits(source, words);
  bench.run(RandSetState{source});
  EXPECT_EQ(bench.bits(lanes), expected);
}

TEST(RandSetState, VectorStatesAreFourXorwowStatesOnNeuronCoreV4) {
  InstructionBench bench(random_architecture(4));
  const View words = bench.tile(kPsum, Dtype::kUint32, {1, 24}, "words");
  const std::vector<uint32_t> paper = {123456789, 362436069, 521288629, 88675123, 5783321, 6615241};
  std::vector<uint32_t> all(24, 0);
  std::copy(paper.begin(), paper.end(), all.begin());
  bench.set_bits(words, all);
  bench.run(RandSetState{words, EngineKind::kVector});
  const View dst = bench.tile(kSbuf, Dtype::kUint32, {1, 5}, "dst");
  bench.run(Rng{dst});
  EXPECT_EQ(bench.bits(dst),
            (std::vector<uint32_t>{246875399, 362437, 362437, 362437, 3690007200}));
}

TEST(RandSetState, ChecksGenerationEngineDtypeAndWords) {
  InstructionBench bench(random_architecture(2));
  const auto error = [&](const View& tile, EngineKind engine = EngineKind::kAuto) {
    return bench.error(RandSetState{tile, engine});
  };
  const View six = bench.tile(kSbuf, Dtype::kUint32, {128, 6}, "six");
  const View all = bench.tile(kSbuf, Dtype::kUint32, {128, 24}, "all");
  EXPECT_EQ(error(six),
            "instruction 'rand_set_state' needs NeuronCore-v3 or newer; architecture trn1 is a "
            "NeuronCore-v2.");
  bench.architecture() = random_architecture(3);
  EXPECT_EQ(error(six), "");
  EXPECT_EQ(error(all, EngineKind::kVector),
            "instruction 'rand_set_state' cannot run on the Vector engine; architecture trn2 has "
            "it on: GpSimd.");
  EXPECT_EQ(error(all),
            "operand 'src_seeds' of 'rand_set_state' has 24 elements per partition; the random "
            "state of a lane of the GpSimd engine has 6.");
  EXPECT_EQ(error(bench.tile(kSbuf, Dtype::kInt32, {128, 6}, "six")),
            "dtype int32 of operand 'src_seeds' of 'rand_set_state' is not supported; expected "
            "uint32.");
  EXPECT_EQ(error(bench.tile(kPsum, Dtype::kUint32, {128, 6}, "six")),
            "Expected operand 'src_seeds' of 'rand_set_state' to be in address space 'sbuf', but "
            "got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
  EXPECT_EQ(error(bench.tile(kSbuf, Dtype::kUint32, {129, 6}, "six")),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'rand_set_state', operand 'src_seeds', architecture trn2)");
  bench.architecture() = random_architecture(4);
  EXPECT_EQ(error(six), "");
  EXPECT_EQ(error(all, EngineKind::kVector), "");
  EXPECT_EQ(error(six, EngineKind::kVector),
            "operand 'src_seeds' of 'rand_set_state' has 6 elements per partition; the random "
            "state of a lane of the Vector engine has 24.");
  EXPECT_EQ(error(six, EngineKind::kScalar),
            "instruction 'rand_set_state' cannot run on the Scalar engine; architecture trn3 has "
            "it on: Vector, GpSimd.");
}

TEST(RandSetState, DemandsACopyOfTheWords) {
  InstructionBench bench(random_architecture(4));
  const View six = bench.tile(kSbuf, Dtype::kUint32, {128, 6}, "six");
  const View all = bench.tile(kSbuf, Dtype::kUint32, {128, 24}, "all");
  const Step gpsimd = bench.demand(RandSetState{six}).steps[0];
  EXPECT_EQ(gpsimd.rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(gpsimd.elements, 6);
  const RandSetState vector{all, EngineKind::kVector};
  EXPECT_EQ(bench.demand(vector).steps[0].rate, RateClass::kOneInput);
  EXPECT_EQ(bench.demand(vector).steps[0].elements, 24);
}

}  // namespace
}  // namespace neuron_sim
