// Programs of GpSimd instructions that write a part of their destination, or start several times.

#include <gtest/gtest.h>

#include <cstring>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/nc_n_gather.h"
#include "device/isa/search/nonzero_with_count.h"
#include "device/isa/search/topk.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

using enum MemoryKind;

/// counts = the non-zero places of the top-4 values of each snake, per partition.
std::shared_ptr<const Program> selection() {
  Builder builder("selection", load_architecture("trn2"));
  const View scores = builder.argument("scores", {32, 6}, Dtype::kBfloat16);
  const View top = builder.argument("top", {32, 4}, Dtype::kUint32);
  const View mask = builder.argument("mask", {32, 5}, Dtype::kInt32);
  const View places = builder.argument("places", {32, 6}, Dtype::kInt32);
  const View src = builder.sbuf("src", {32, 6}, Dtype::kBfloat16);
  const View values = builder.sbuf("values", {32, 4}, Dtype::kBfloat16);
  const View indices = builder.sbuf("indices", {32, 4}, Dtype::kUint32);
  const View flags = builder.sbuf("flags", {32, 5}, Dtype::kInt32);
  const View found = builder.sbuf("found", {32, 6}, Dtype::kInt32);
  builder.emit(DmaCopy{.dst = src, .src = scores});
  builder.emit(Topk{.val_dst = values, .idx_dst = indices, .src = src, .n = 90});
  builder.emit(DmaCopy{.dst = top, .src = indices});
  builder.emit(DmaCopy{.dst = flags, .src = mask});
  builder.emit(NonzeroWithCount{.dst = found, .src = flags});
  builder.emit(DmaCopy{.dst = places, .src = found});
  return builder.finish();
}

TEST(GpSimdProgram, LeavesWhatItDoesNotWriteAsUninitialisedMemoryReads) {
  const auto program = selection();
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    ProgramRun run(program);
    // Whatever an earlier program left on chip must not show.
    for (const Tile& tile : program->tiles) {
      if (tile.memory != kSbuf) continue;
      for (int64_t p = 0; p < tile.partitions; ++p) {
        std::memset(run.memory().at(kSbuf, tile.start_partition + p, tile.address), 0x5A,
                    static_cast<size_t>(tile.bytes));
      }
    }
    run.randomise(11);
    const int32_t mask[5] = {0, 3, 0, 0, -1};
    std::memcpy(run.data<int32_t>(2) + 16 * 5, mask, sizeof(mask));
    run.execute(plan, pool);
    for (int p = 0; p < 32; ++p) {
      EXPECT_EQ(run.data<uint32_t>(1)[p * 4 + 1], 4U);  // four results fit into column 0
      if (p % 16 >= 4) {
        EXPECT_EQ(run.data<uint32_t>(1)[p * 4], 4U);
      }
      if (p % 16 != 0) {
        EXPECT_EQ(run.data<int32_t>(3)[p * 6], 4);
      }
    }
    const int32_t expected[6] = {1, 4, -1, -1, -1, 2};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(run.data<int32_t>(3)[16 * 6 + i], expected[i]);
  }
}

Picoseconds gather_time(int64_t count) {
  Builder builder("gather", load_architecture("trn2"));
  const View data = builder.sbuf("data", {128, 64}, Dtype::kFloat32);
  const View indices = builder.sbuf("indices", {128, count}, Dtype::kUint32);
  const View dst = builder.sbuf("dst", {128, count}, Dtype::kFloat32);
  builder.emit(NcNGather{.dst = dst, .data = data, .indices = indices});
  return simulate(*builder.finish()).body;
}

TEST(GpSimdProgram, PaysTheStartOfEveryIsaInstructionOfAGather) {
  const Architecture& trn2 = load_architecture("trn2");
  const auto cycles = [&](double count) { return trn2.clocks.gpsimd.duration(count); };
  const double element = trn2.rates[RateClass::kGpSimdTwoInputs];
  EXPECT_EQ(gather_time(512) - gather_time(511), cycles(512 * element) - cycles(511 * element));
  const double started = 513 * element + trn2.gpsimd.overhead_sbuf;
  EXPECT_EQ(gather_time(513) - gather_time(512), cycles(started) - cycles(512 * element));
}

TEST(GpSimdProgram, RefusesAnIndexOutOfBoundsOnAnyThread) {
  Builder builder("outside", load_architecture("trn2"));
  const View index = builder.argument("index", {1, 2}, Dtype::kUint32);
  const View indices = builder.sbuf("indices", {1, 2}, Dtype::kUint32);
  const View data = builder.sbuf("data", {1, 8}, Dtype::kFloat32);
  const View dst = builder.sbuf("dst", {1, 2}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = indices, .src = index});
  builder.emit(NcNGather{.dst = dst, .data = data, .indices = indices});
  const auto program = builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    ProgramRun run(program);
    run.data<uint32_t>(0)[1] = 7;
    EXPECT_NO_THROW(run.execute(plan, pool));
    run.data<uint32_t>(0)[1] = 8;
    EXPECT_THROW(run.execute(plan, pool), KernelError);
  }
}

}  // namespace
}  // namespace neuron_sim
