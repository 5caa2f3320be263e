#include "device/isa/sequencing/core_barrier.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(CoreBarrier, RunsOnAnyEngineAndOnGpSimdByDefault) {
  InstructionBench bench;
  const View data = bench.tile(kHbm, kFp32, {4, 8}, "data");
  EXPECT_EQ(bench.prepare(CoreBarrier{.data = data}).engine, EngineKind::kGpSimd);
  for (int engine = 0; engine < kEngineCount; ++engine) {
    const Draft draft =
        CoreBarrier{.data = data, .engine = static_cast<EngineKind>(engine)}.draft();
    EXPECT_EQ(bench.prepare(draft).engine, static_cast<EngineKind>(engine));
    const Demand demand = bench.demand(draft);
    ASSERT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kBarrier);
  }
  EXPECT_EQ(kCoreBarrier.synchronises, Synchronisation::kBarrier);
}

TEST(CoreBarrier, NeedsBothCores) {
  InstructionBench bench;
  const View data = bench.tile(kHbm, kFp32, {4, 8}, "data");
  const auto error = [&](const std::vector<int64_t>& cores) {
    return bench.error(CoreBarrier{.data = data, .cores = cores});
  };
  EXPECT_EQ(error({0, 1}), "");
  EXPECT_EQ(error({1, 0}), "");
  const std::vector<std::vector<int64_t>> wrong = {
      {}, {0}, {1}, {0, 0}, {0, 2}, {-1, 1}, {0, 1, 1}, {0, int64_t{1} << 40}};
  for (const auto& cores : wrong) {
    EXPECT_EQ(error(cores),
              "'core_barrier' on tensor 'data': cores must be (0, 1), the two cores of a logical "
              "core of architecture trn2.");
  }
}

TEST(CoreBarrier, NeedsATensorInHbmOrSbuf) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kFp32, {4, 8}, "tile");
  EXPECT_EQ(bench.error(CoreBarrier{.data = tile}), "");
  const View bank = bench.tile(kPsum, kFp32, {4, 8}, "bank");
  EXPECT_EQ(bench.error(CoreBarrier{.data = bank}),
            "Expected operand 'data' of 'core_barrier' to be in address space 'hbm|sbuf', but got "
            "a tile in 'psum' instead.");
  EXPECT_EQ(bench.error(CoreBarrier{}),
            "Expected operand 'data' of 'core_barrier' to be in address space 'hbm|sbuf', but it "
            "is missing.");
}

TEST(CoreBarrier, ExistsFromNeuronCoreV3On) {
  for (const auto& [generation, works] : {std::pair{2, false}, {3, true}, {4, true}}) {
    InstructionBench bench;
    bench.architecture().generation = generation;
    bench.architecture().neuron_core = text("NeuronCore-v", generation);
    const View data = bench.tile(kHbm, kFp32, {4, 8}, "data");
    const Draft draft = CoreBarrier{.data = data}.draft();
    EXPECT_EQ(bench.error(draft),
              works ? ""
                    : "instruction 'core_barrier' needs NeuronCore-v3 or newer; architecture trn2 "
                      "is a NeuronCore-v2.");
    const auto kind = bench.error_kind(draft);
    EXPECT_EQ(kind == ErrorKind::kNotImplemented, !works);
  }
}

}  // namespace
}  // namespace neuron_sim
