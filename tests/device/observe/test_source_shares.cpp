#include "device/observe/source_shares.h"

#include <gtest/gtest.h>

#include "device/observe/program_counters.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

TEST(SourceShares, SumToTheRun) {
  for (const std::string& architecture : builtin_architectures()) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      RandomProgramOptions options{.longest_loop = 4};
      const auto program = RandomProgram(seed, load_architecture(architecture), options).build();
      const Recording recording = record(*program);
      Picoseconds time{};
      int64_t bytes = 0, hbm = 0, instances = 0;
      for (const SourceShare& share : shares_by_source(recording)) {
        for (const auto& [spent, part] : share.path) time += part;
        bytes += share.dma_bytes;
        hbm += share.hbm_bytes;
        instances += share.instances;
      }
      EXPECT_EQ(time, recording.timing.body);
      EXPECT_EQ(bytes, recording.timing.dma_bytes);
      const Traffic traffic = program_counters(*program).hbm;
      EXPECT_EQ(hbm, traffic.read + traffic.written);
      EXPECT_EQ(instances, recording.timing.instances);
    }
  }
}

TEST(SourceShares, BelongToTheLineOfEachInstruction) {
  Builder builder("layers", load_architecture("trn2"));
  const View x = builder.argument("x", {128, 64}, Dtype::kFloat32);
  const View weights = builder.argument("weights", {128, 32}, Dtype::kFloat32);
  const View result = builder.argument("result", {64, 32}, Dtype::kFloat32);
  const View x_tile = builder.sbuf("x_tile", {128, 64}, Dtype::kFloat32);
  const View weight_tile = builder.sbuf("weight_tile", {128, 32}, Dtype::kFloat32);
  const View staged = builder.sbuf("staged", {64, 32}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {64, 32}, Dtype::kFloat32);
  builder.set_source_line("first");
  builder.emit(DmaCopy{.dst = x_tile, .src = x});
  builder.set_source_line("second");
  builder.emit(DmaCopy{.dst = weight_tile, .src = weights});
  builder.emit(NcMatmul{sum, x_tile, weight_tile});
  builder.set_source_line("");
  builder.emit(TensorCopy{staged, sum, EngineKind::kVector});
  builder.emit(DmaCopy{.dst = result, .src = staged});
  const auto program = builder.finish();
  const std::vector<SourceShare> shares = shares_by_source(record(*program));
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].source, "first");
  EXPECT_EQ(shares[0].dma_bytes, 128 * 64 * 4);
  EXPECT_EQ(shares[0].hbm_bytes, 128 * 64 * 4);
  EXPECT_EQ(shares[0].multiply_accumulates, 0);
  EXPECT_EQ(shares[1].source, "second");
  EXPECT_EQ(shares[1].instances, 2);
  EXPECT_EQ(shares[1].dma_bytes, 128 * 32 * 4);
  EXPECT_EQ(shares[1].multiply_accumulates, 64 * 128 * 32);
  EXPECT_EQ(shares[2].source, "");
  EXPECT_EQ(shares[2].dma_bytes, 64 * 32 * 4);
  EXPECT_TRUE(shares[2].path.contains("Vector"));
}

TEST(SourceShares, OfNothingAreNone) {
  const auto program = Builder("nothing", load_architecture("trn2")).finish();
  EXPECT_TRUE(shares_by_source(record(*program)).empty());
}

}  // namespace
}  // namespace neuron_sim
