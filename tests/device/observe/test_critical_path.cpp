#include "device/observe/critical_path.h"

#include <gtest/gtest.h>

#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

TEST(CriticalPath, CoversTheBodyWithoutGapsOrOverlaps) {
  for (const std::string& architecture : builtin_architectures()) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      RandomProgramOptions options{.longest_loop = 4};
      const auto program = RandomProgram(seed, load_architecture(architecture), options).build();
      const Recording recording = record(*program);
      const std::vector<PathSegment> path = critical_path(recording);
      Picoseconds at{};
      for (const PathSegment& segment : path) {
        EXPECT_EQ(segment.start, at);
        EXPECT_GT(segment.end, segment.start);
        at = segment.end;
      }
      EXPECT_EQ(at, recording.timing.body);
      Picoseconds sum{};
      for (const auto& [spent, time] : path_summary(recording, path)) sum += time;
      EXPECT_EQ(sum, recording.timing.body);
    }
  }
}

TEST(CriticalPath, OfAChainIsTheChain) {
  Builder builder("chain", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 512}, Dtype::kFloat32);
  const View result = builder.argument("result", {128, 512}, Dtype::kFloat32);
  const View a = builder.sbuf("a", {128, 512}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 512}, Dtype::kFloat32);
  const View aside = builder.sbuf("aside", {128, 4}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = a, .src = source});
  builder.emit(Memset{aside, 1.0, EngineKind::kGpSimd});  // in the shadow of the load
  builder.emit(TensorTensor{b, a, a, AluOp::kAdd, EngineKind::kVector});
  builder.emit(DmaCopy{.dst = result, .src = b});
  const auto program = builder.finish();
  const Recording recording = record(*program);
  std::vector<std::string> spent;
  for (const PathSegment& segment : critical_path(recording)) {
    spent.push_back(spent_on(recording, segment));
    EXPECT_NE(recording.instruction_of(recording.events[segment.event]).engine,
              EngineKind::kGpSimd);
  }
  EXPECT_EQ(std::ranges::count(spent, "DMA transfer"), 2);
  EXPECT_EQ(std::ranges::count(spent, "Vector"), 1);
  EXPECT_EQ(std::ranges::count(spent, "semaphore"), 2);
  EXPECT_EQ(spent.back(), "DMA completion");
}

TEST(CriticalPath, OfNothingIsEmpty) {
  const auto program = Builder("nothing", load_architecture("trn2")).finish();
  EXPECT_TRUE(critical_path(record(*program)).empty());
}

}  // namespace
}  // namespace neuron_sim
