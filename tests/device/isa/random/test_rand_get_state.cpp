#include "device/isa/random/rand_get_state.h"

#include "device/isa/random/rand_set_state.h"
#include "device/isa/random/rng.h"
#include "tests/device/isa/random_instructions.h"

namespace neuron_sim {
namespace {

TEST(RandGetState, AStateReadAndSetAgainRepeatsTheNumbers) {
  for (const EngineKind engine : {EngineKind::kGpSimd, EngineKind::kVector}) {
    InstructionBench bench(random_architecture(4));
    const bool vector = engine == EngineKind::kVector;
    const EngineState lanes = vector ? EngineState::kVectorRandom : EngineState::kGpSimdRandom;
    seed_lanes(bench, lanes, 5);
    const View saved =
        bench.tile(vector ? kPsum : kSbuf, Dtype::kUint32, {128, vector ? 24 : 6}, "saved");
    const View dst = bench.tile(kSbuf, Dtype::kUint32, {128, 7}, "dst");
    bench.run(Rng{dst, engine});
    bench.run(RandGetState{saved, engine});
    EXPECT_EQ(bench.bits(saved), bench.bits(engine_state(lanes, 128)));
    bench.run(Rng{dst, engine});
    const std::vector<uint32_t> first = bench.bits(dst);
    bench.run(Rng{dst, engine});
    EXPECT_NE(bench.bits(dst), first);
    bench.run(RandSetState{saved, engine});
    bench.run(Rng{dst, engine});
    EXPECT_EQ(bench.bits(dst), first);
  }
}

TEST(RandGetState, GivesTheFirstLanesToAnyPartitions) {
  InstructionBench bench;
  seed_lanes(bench, EngineState::kGpSimdRandom, 5);
  const View dst =
      bench.tile(kSbuf, Dtype::kUint32, {128, 6, 2}, "dst").slice(0, 96, 3).select(2, 1);
  bench.run(RandGetState{dst});
  EXPECT_EQ(bench.bits(dst), bench.bits(engine_state(EngineState::kGpSimdRandom, 3)));
}

TEST(RandGetState, ChecksGenerationEngineDtypeAndWords) {
  InstructionBench bench(random_architecture(2));
  const auto error = [&](const View& tile, EngineKind engine = EngineKind::kAuto) {
    return bench.error(RandGetState{tile, engine});
  };
  const View six = bench.tile(kSbuf, Dtype::kUint32, {128, 6}, "six");
  EXPECT_EQ(error(six),
            "instruction 'rand_get_state' needs NeuronCore-v3 or newer; architecture trn1 is a "
            "NeuronCore-v2.");
  bench.architecture() = random_architecture(3);
  EXPECT_EQ(error(six), "");
  EXPECT_EQ(error(six, EngineKind::kVector),
            "instruction 'rand_get_state' cannot run on the Vector engine; architecture trn2 has "
            "it on: GpSimd.");
  EXPECT_EQ(error(six.slice(1, 0, 5)),
            "operand 'dst' of 'rand_get_state' has 5 elements per partition; the random state of "
            "a lane of the GpSimd engine has 6.");
  EXPECT_EQ(error(bench.tile(kSbuf, kFp32, {128, 6}, "six")),
            "dtype float32 of operand 'dst' of 'rand_get_state' is not supported; expected "
            "uint32.");
}

TEST(RandGetState, DemandsACopyOfTheWords) {
  InstructionBench bench;
  const View six = bench.tile(kSbuf, Dtype::kUint32, {128, 6}, "six");
  const Step step = bench.demand(RandGetState{six}).steps[0];
  EXPECT_EQ(step.rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(step.elements, 6);
}

}  // namespace
}  // namespace neuron_sim
