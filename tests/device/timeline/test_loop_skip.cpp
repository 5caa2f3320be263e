#include <gtest/gtest.h>

#include "device/timeline/timeline.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

void expect_equal(const Timing& full, const Timing& skipped, const std::string& what) {
  EXPECT_EQ(full.body.count, skipped.body.count) << what;
  for (size_t engine = 0; engine < kEngineCount; ++engine) {
    EXPECT_EQ(full.busy[engine].count, skipped.busy[engine].count) << what << " engine " << engine;
    EXPECT_EQ(full.instructions[engine], skipped.instructions[engine]) << what;
  }
  EXPECT_EQ(full.dma_busy.count, skipped.dma_busy.count) << what;
  EXPECT_EQ(full.dma_engines, skipped.dma_engines) << what;
  EXPECT_EQ(full.dma_transfers, skipped.dma_transfers) << what;
  EXPECT_EQ(full.dma_bytes, skipped.dma_bytes) << what;
  EXPECT_EQ(full.instances, skipped.instances) << what;
  EXPECT_EQ(full.widened_accesses, skipped.widened_accesses) << what;
  EXPECT_EQ(full.multiply_accumulates, skipped.multiply_accumulates) << what;
  EXPECT_EQ(full.skipped_instances, 0) << what;
}

/// Simulates with and without skipping; returns the instances skipped.
int64_t compare(const Program& program, bool starts_warm, const std::string& what) {
  TimelineOptions options{.starts_warm = starts_warm};
  const Timing skipped = simulate(program, {}, options);
  options.skip_steady_loops = false;
  expect_equal(simulate(program, {}, options), skipped, what);
  return skipped.skipped_instances;
}

/// Seeds first .. first + count - 1; returns how many programs had skipped loops.
int compare_many(uint64_t first, int count, const RandomProgramOptions& options,
                 const Architecture& architecture) {
  int with_skips = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const auto program = RandomProgram(seed, architecture, options).build();
    const bool warm = seed % 2 == 1;
    with_skips += compare(*program, warm, text("seed ", seed)) > 0 ? 1 : 0;
    if (::testing::Test::HasFailure()) break;
  }
  return with_skips;
}

TEST(LoopSkip, IsExactForRandomLoopPrograms) {
  RandomProgramOptions options{.shortest_loop = 40, .longest_loop = 300, .depth = 1};
  EXPECT_GT(compare_many(1000, 300, options, load_architecture("trn2")), 100);
}

TEST(LoopSkip, IsExactForRandomNestedLoops) {
  RandomProgramOptions options{
      .shortest_loop = 3, .longest_loop = 60, .statements = 4, .moving_windows = 5};
  EXPECT_GT(compare_many(2000, 200, options, load_architecture("trn2")), 60);
}

TEST(LoopSkip, IsExactForRandomMatmulPrograms) {
  RandomProgramOptions options{.shortest_loop = 30,
                               .longest_loop = 400,
                               .depth = 2,
                               .statements = 3,
                               .matmul_share = 80,
                               .dma_share = 10,
                               .moving_windows = 3};
  EXPECT_GT(compare_many(3000, 100, options, load_architecture("trn2")), 30);
}

TEST(LoopSkip, IsExactForRandomDmaPrograms) {
  RandomProgramOptions options{.shortest_loop = 30,
                               .longest_loop = 200,
                               .depth = 1,
                               .matmul_share = 5,
                               .dma_share = 80,
                               .moving_windows = 0};
  EXPECT_GT(compare_many(4000, 100, options, load_architecture("trn2")), 30);
}

TEST(LoopSkip, IsExactOnOtherArchitectures) {
  RandomProgramOptions options{.shortest_loop = 20, .longest_loop = 120};
  for (const char* name : {"trn1", "trn3"}) {
    EXPECT_GT(compare_many(5000, 60, options, load_architecture(name)), 10) << name;
  }
}

/// Load, work, store with rings: the usual kernel. The product keeps the array half busy.
std::shared_ptr<const Program> streaming_kernel(int64_t trips, bool product) {
  Builder builder("streaming", load_architecture("trn2"));
  const Dtype dtype = Dtype::kBfloat16;
  const View input = builder.argument("input", {trips, 128, 512}, dtype);
  const View weight = builder.argument("weight", {128, 128}, dtype);
  const View output = builder.argument("output", {trips, 128, 512}, dtype);
  const View weights = builder.sbuf("weights", {128, 128}, dtype);
  const View in = builder.sbuf("in", {128, 512}, dtype, 3);
  const View out = builder.sbuf("out", {128, 512}, dtype, 3);
  const View sum = builder.psum("sum", {128, 512}, Dtype::kFloat32, 2);
  builder.emit(DmaCopy{.dst = weights, .src = weight});
  builder.loop(trips, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = in.turn(i), .src = input.select(0, i)});
    if (product) {
      builder.emit(NcMatmul{.dst = sum.turn(i), .stationary = weights, .moving = in.turn(i)});
      builder.emit(TensorCopy{out.turn(i), sum.turn(i)});
    } else {
      builder.emit(TensorTensor{out.turn(i), in.turn(i), in.turn(i), AluOp::kAdd});
    }
    builder.emit(
        DmaCopy{.dst = output.select(0, i), .src = out.turn(i), .engine = EngineKind::kScalar});
  });
  return builder.finish();
}

TEST(LoopSkip, SkipsNearlyAllOfAStreamingKernel) {
  for (const bool product : {false, true}) {
    const auto program = streaming_kernel(5000, product);
    const int64_t skipped = compare(*program, false, "streaming");
    EXPECT_GT(skipped, simulate(*program).instances * 9 / 10) << product;
  }
}

TEST(LoopSkip, WalksAHundredthOfAMillionIterations) {
  for (const bool product : {false, true}) {
    const auto program = streaming_kernel(1'000'000, product);
    const Timing timing = simulate(*program);
    EXPECT_GT(timing.instances, 2'999'999);
    EXPECT_LT(timing.instances - timing.skipped_instances, 20'000);
  }
}

/// Products that keep the array busy while the clock warms up.
std::shared_ptr<const Program> product_kernel(int64_t trips, int64_t columns, int64_t pause) {
  Builder builder("products", load_architecture("trn2"));
  const View weights = builder.sbuf("weights", {128, 128}, Dtype::kBfloat16, 2);
  const View moving = builder.sbuf("moving", {128, 512}, Dtype::kBfloat16);
  const View out = builder.sbuf("out", {128, 512}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {128, 512}, Dtype::kFloat32, 2);
  builder.loop(trips, [&](const Affine& i) {
    builder.emit(NcMatmul{.dst = sum.turn(i).slice(1, 0, columns),
                          .stationary = weights.turn(i),
                          .moving = moving.slice(1, 0, columns)});
    if (pause > 0) {
      builder.emit(TensorCopy{out.slice(1, 0, pause), sum.turn(i).slice(1, 0, pause)});
      builder.emit(TensorCopy{moving.slice(1, 0, pause), out.slice(1, 0, pause)});
    }
  });
  return builder.finish();
}

TEST(LoopSkip, IsExactAcrossTheWarmUpOfTheClock) {
  for (const int64_t trips : {6, 20, 50, 200, 1000, 20000}) {
    for (const int64_t columns : {1, 64, 200, 512}) {
      for (const int64_t pause : {0, 1, 100, 512}) {
        if (pause > columns) continue;
        for (const bool warm : {false, true}) {
          compare(*product_kernel(trips, columns, pause), warm,
                  text("trips ", trips, " columns ", columns, " pause ", pause));
        }
      }
    }
  }
  EXPECT_GT(compare(*product_kernel(20000, 512, 0), false, "busy"), 19000);
  EXPECT_GT(compare(*product_kernel(20000, 64, 0), false, "short"), 19000);
}

TEST(LoopSkip, IsExactWhenAReadReachesAWrittenPlaceOnlyLate) {
  Builder builder("late", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 600}, Dtype::kFloat32);
  const View out = builder.sbuf("out", {128, 600}, Dtype::kFloat32);
  builder.emit(TensorCopy{out, tile, EngineKind::kVector});
  builder.loop(300, [&](const Affine& i) {
    builder.emit(Memset{tile.slice(1, 500, 1), 0, EngineKind::kGpSimd});
    builder.emit(TensorCopy{out.slice(1, 0, 250), tile.slice(1, i, 250), EngineKind::kVector});
  });
  compare(*builder.finish(), false, "late read");
}

TEST(LoopSkip, IsExactWhenWeightsMeetThoseThatAreLoadedOnlyLate) {
  // No other buffer for weights on trn1: a load that is not needed saves time.
  Builder builder("late", load_architecture("trn1"));
  const View weights = builder.sbuf("weights", {128, 300}, Dtype::kBfloat16);
  const View moving = builder.sbuf("moving", {128, 300}, Dtype::kBfloat16);
  const View sum = builder.psum("sum", {128, 512}, Dtype::kFloat32);
  builder.emit(NcMatmul{
      .dst = sum.slice(1, 0, 300), .stationary = moving.slice(1, 0, 128), .moving = weights});
  builder.loop(150, [&](const Affine& i) {
    for (const Affine& first : {i, Affine(120)}) {
      builder.emit(NcMatmul{.dst = sum.slice(1, 0, 64),
                            .stationary = weights.slice(1, first, 128),
                            .moving = moving.slice(1, 0, 64)});
    }
  });
  compare(*builder.finish(), true, "late weights");
}

TEST(LoopSkip, CountsTheWidenedAccessesOfSkippedIterations) {
  Builder builder("wide", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  const View out = builder.sbuf("out", {128, 64}, Dtype::kFloat32);
  builder.loop(500, [&](const Affine&) {
    builder.emit(Memset{tile, 1});
    for (int64_t k = 0; k < 20; ++k) {
      builder.emit(TensorCopy{out.slice(1, k, 1), tile.slice(1, k, 1)});
    }
  });
  const auto program = builder.finish();
  EXPECT_GT(compare(*program, false, "widened"), 0);
  EXPECT_GT(simulate(*program).widened_accesses, 500);
}

}  // namespace
}  // namespace neuron_sim
