// Programs whose control depends on data: register loops, register addresses, index tiles.

#include <gtest/gtest.h>

#include <cstring>

#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/runtime/kernel.h"
#include "device/timeline/timeline.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// output[i] = 1 for i < trips, where the argument `trips` is one int32.
std::shared_ptr<const Program> counting_program(int64_t bound) {
  Builder builder("counting", load_architecture("trn2"));
  const View trips = builder.argument("trips", {1, 1}, Dtype::kInt32);
  const View output = builder.argument("output", {bound, 1, 4}, Dtype::kFloat32);
  const View tile = builder.sbuf("count", {1, 1}, Dtype::kInt32);
  const View ones = builder.sbuf("ones", {1, 4}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = tile, .src = trips});
  builder.emit(Memset{ones, 1});
  const int index = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = index, .src = tile});
  builder.loop_register(EngineKind::kSync, index, bound, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = output.select(0, i), .src = ones});
  });
  return builder.finish();
}

TEST(RegisterLoop, RunsAsOftenAsItsRegisterSays) {
  const auto program = counting_program(10);
  EXPECT_TRUE(program->uses_registers);
  const ExecutionPlan plan = make_plan(*program);
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    for (const int32_t trips : {0, 1, 7, 10}) {
      ProgramRun run(program);
      *run.data<int32_t>(0) = trips;
      const ControlLog log = run.execute(plan, pool);
      EXPECT_EQ(log.values, std::vector<int64_t>{trips});
      for (int i = 0; i < 40; ++i) EXPECT_EQ(run.data<float>(1)[i], i < trips * 4 ? 1 : 0);
    }
  }
}

TEST(RegisterLoop, RejectsATripCountOutOfRange) {
  const auto program = counting_program(10);
  const ExecutionPlan plan = make_plan(*program);
  ThreadPool pool(2);
  for (const int32_t trips : {-1, 11}) {
    ProgramRun run(program);
    *run.data<int32_t>(0) = trips;
    try {
      run.execute(plan, pool);
      FAIL() << trips;
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIndex);
      EXPECT_EQ(std::string(error.what()),
                text("loop of kernel 'counting': register 0 holds a trip count of ", trips,
                     ", the loop allows 0 to 10."));
    }
    *run.data<int32_t>(0) = 10;
    EXPECT_NO_THROW(run.execute(plan, pool));
  }
}

TEST(RegisterLoop, IsTimedFromItsLogAndCached) {
  const auto program = counting_program(10);
  const Kernel kernel(program);
  const Timing three = kernel.timing({{3}});
  const Timing ten = kernel.timing({{10}});
  EXPECT_EQ(kernel.simulations(), 2);
  EXPECT_EQ(three.dma_transfers, 4);
  EXPECT_EQ(ten.dma_transfers, 11);
  EXPECT_LT(three.body, ten.body);
  EXPECT_EQ(kernel.timing({{3}}).body, three.body);
  EXPECT_EQ(kernel.simulations(), 2);
  EXPECT_EQ(kernel.timing().body, ten.body);  // the bound, when nothing is known
  EXPECT_EQ(kernel.simulations(), 3);
}

TEST(RegisterLoop, ForgetsTheOldestTiming) {
  const Kernel kernel(counting_program(40));
  for (int64_t trips = 0; trips < 17; ++trips) kernel.timing({{trips}});
  EXPECT_EQ(kernel.simulations(), 17);
  kernel.timing({{16}});
  kernel.timing({{1}});
  EXPECT_EQ(kernel.simulations(), 17);
  kernel.timing({{0}});
  EXPECT_EQ(kernel.simulations(), 18);
}

TEST(RegisterLoop, ChecksTheControlLogAgainstTheProgram) {
  Builder builder("twice", load_architecture("trn2"));
  const int index = builder.allocate_register();
  builder.emit(RegisterMove{.dst = index, .src = 2});
  const View tile = builder.sbuf("tile", {1, 4}, Dtype::kFloat32);
  for (int i = 0; i < 2; ++i) {
    builder.loop_register(EngineKind::kSync, index, 4, [&](const Affine&) {
      builder.emit(Memset{tile, 0});
    });
  }
  const auto program = builder.finish();
  EXPECT_EQ(simulate(*program, {{2, 3}}).instances, 6);
  EXPECT_THROW(simulate(*program, {{2}}), SimulatorBug);
}

TEST(RegisterAddress, IsCheckedAtRunTime) {
  Builder builder("addressed", load_architecture("trn2"));
  const View where = builder.argument("where", {1, 1}, Dtype::kInt32);
  const View input = builder.argument("input", {1, 16}, Dtype::kFloat32);
  const View output = builder.argument("output", {1, 4}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {1, 4}, Dtype::kFloat32);
  builder.emit(RegisterLoad{.dst = 5, .src = where});
  builder.emit(DmaCopy{.dst = tile, .src = input.slice(1, 0, 4).at_register(5, 4)});
  builder.emit(DmaCopy{.dst = output, .src = tile});
  const auto program = builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  ThreadPool pool(2);
  ProgramRun run(program);
  for (int i = 0; i < 16; ++i) run.data<float>(1)[i] = static_cast<float>(i);
  for (const int32_t first : {0, 5, 12}) {
    *run.data<int32_t>(0) = first;
    run.execute(plan, pool);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run.data<float>(2)[i], static_cast<float>(first + i));
  }
  for (const int32_t first : {-1, 13}) {
    *run.data<int32_t>(0) = first;
    EXPECT_THROW(run.execute(plan, pool), KernelError) << first;
  }
}

constexpr int64_t kRows = 20, kWidth = 6, kTaken = 8;

/// Gathers or scatters kTaken rows of a [kRows, kWidth] tensor; `written`: its tile holds rows
/// before.
std::shared_ptr<const Program> indexed_program(bool gather, bool skip, bool written = true) {
  Builder builder("indexed", load_architecture("trn2"));
  const View index = builder.argument("index", {kTaken, 1}, Dtype::kInt32);
  const View table = builder.argument("table", {kRows, kWidth}, Dtype::kBfloat16);
  const View rows = builder.argument("rows", {kTaken, kWidth}, Dtype::kBfloat16);
  const View indices = builder.sbuf("indices", {kTaken, 1}, Dtype::kInt32);
  const View tile = builder.sbuf("tile", {kTaken, kWidth}, Dtype::kBfloat16);
  builder.emit(DmaCopy{.dst = indices, .src = index});
  const View chosen = table.slice(0, 0, kTaken).indirect(kRows);
  if (written) builder.emit(DmaCopy{.dst = tile, .src = rows});
  if (gather) {
    builder.emit(DmaCopy{.dst = tile, .src = chosen, .index = indices, .oob_skip = skip});
    builder.emit(DmaCopy{.dst = rows, .src = tile});
  } else {
    builder.emit(DmaCopy{.dst = chosen, .src = tile, .index = indices, .oob_skip = skip});
  }
  return builder.finish();
}

TEST(IndirectDma, GathersAndScattersRows) {
  for (const bool gather : {true, false}) {
    const auto program = indexed_program(gather, false);
    const ExecutionPlan plan = make_plan(*program);
    ThreadPool pool(2);
    ProgramRun run(program);
    run.randomise(3);
    const int32_t index[kTaken] = {19, 0, 7, 7, 3, 18, 1, 5};
    std::memcpy(run.data<int32_t>(0), index, sizeof(index));
    std::vector<uint16_t> table(run.data<uint16_t>(1), run.data<uint16_t>(1) + kRows * kWidth);
    std::vector<uint16_t> rows(run.data<uint16_t>(2), run.data<uint16_t>(2) + kTaken * kWidth);
    for (int64_t p = 0; p < kTaken; ++p) {
      for (int64_t k = 0; k < kWidth; ++k) {
        uint16_t& in_table = table[static_cast<size_t>(index[p] * kWidth + k)];
        uint16_t& in_rows = rows[static_cast<size_t>(p * kWidth + k)];
        (gather ? in_rows : in_table) = gather ? in_table : in_rows;
      }
    }
    EXPECT_EQ(run.execute(plan, pool).values, std::vector<int64_t>{kTaken});
    EXPECT_TRUE(std::equal(table.begin(), table.end(), run.data<uint16_t>(1))) << gather;
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), run.data<uint16_t>(2))) << gather;
  }
}

TEST(IndirectDma, SkipsOrRejectsIndicesOutOfRange) {
  for (const bool gather : {true, false}) {
    for (const int32_t outside : {-1, static_cast<int32_t>(kRows)}) {
      ThreadPool pool(1);
      const auto strict = indexed_program(gather, false);
      ProgramRun failing(strict);
      failing.data<int32_t>(0)[4] = outside;
      try {
        failing.execute(make_plan(*strict), pool);
        FAIL();
      } catch (const KernelError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kIndex);
        EXPECT_EQ(std::string(error.what()),
                  text("Out-of-bound access for tensor `table` on dimension 0: index ", outside,
                       " of partition 4 exceed dimension size of 20 (instruction 'dma_copy')."));
      }
      const auto skipping = indexed_program(gather, true);
      ProgramRun run(skipping);
      run.randomise(5);
      std::memset(run.data<int32_t>(0), 0, kTaken * 4);
      run.data<int32_t>(0)[4] = outside;
      const uint16_t kept = run.data<uint16_t>(2)[4 * kWidth];
      EXPECT_EQ(run.execute(make_plan(*skipping), pool).values, std::vector<int64_t>{kTaken - 1});
      EXPECT_EQ(run.data<uint16_t>(2)[4 * kWidth], kept);
    }
  }
}

TEST(IndirectDma, IsTimedByTheRowsItMovedAndCached) {
  const Kernel kernel(indexed_program(true, true));
  const Timing all = kernel.timing({{kTaken}});
  const Timing none = kernel.timing({{0}});
  EXPECT_EQ(kernel.timing().body, all.body);
  EXPECT_LT(none.body, all.body);
  EXPECT_EQ(all.dma_bytes - none.dma_bytes, kTaken * kWidth * 2);
  EXPECT_EQ(kernel.simulations(), 3);
  kernel.timing({{0}});
  EXPECT_EQ(kernel.simulations(), 3);
}

TEST(IndirectDma, FillsOnlyTilesOfWhichItMaySkipUnwrittenRows) {
  for (const bool skip : {false, true}) {
    for (const bool written : {false, true}) {
      const auto program = indexed_program(/*gather=*/true, skip, written);
      const ExecutionPlan plan = make_plan(*program);
      std::vector<std::string> filled;
      for (const TileId tile : plan.fill) {
        filled.push_back(program->tiles[static_cast<size_t>(tile)].label);
      }
      const std::vector<std::string> expected(skip && !written ? 1 : 0, "tile");
      EXPECT_EQ(filled, expected) << skip << written;
    }
  }
}

TEST(IndirectDma, GathersSkippedRowsAsUninitialised) {
  const auto program = indexed_program(/*gather=*/true, /*skip=*/true, /*written=*/false);
  ThreadPool pool(1);
  ProgramRun run(program);
  run.randomise(7);
  std::memset(run.data<int32_t>(0), 0, kTaken * 4);
  run.data<int32_t>(0)[4] = kRows;
  const ExecutionPlan plan = make_plan(*program);
  for (int launch = 0; launch < 2; ++launch) {
    run.execute(plan, pool);
    EXPECT_EQ(run.data<uint16_t>(2)[4 * kWidth], 0x7fc0);
    EXPECT_EQ(run.data<uint16_t>(2)[5 * kWidth], run.data<uint16_t>(1)[0]);
  }
}

TEST(IndirectDma, HasAPlanThatKnowsAllLocations) {
  EXPECT_TRUE(make_plan(*indexed_program(/*gather=*/true, /*skip=*/false)).resolved);
  EXPECT_FALSE(make_plan(*counting_program(4)).resolved);
}

TEST(IndirectDma, CountsAllDescriptorsOfARow) {
  Builder builder("pieces", load_architecture("trn2"));
  const View index = builder.argument("index", {8, 1}, Dtype::kInt32);
  const View table = builder.argument("table", {20, 3, 10}, Dtype::kFloat32);
  const View indices = builder.sbuf("indices", {8, 1}, Dtype::kInt32);
  const View tile = builder.sbuf("tile", {8, 3, 4}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = indices, .src = index});
  builder.emit(DmaCopy{
      .dst = tile, .src = table.slice(0, 0, 8).slice(2, 2, 4).indirect(20), .index = indices});
  const auto program = builder.finish();
  EXPECT_EQ(simulate(*program, {{8}}).dma_bytes, simulate(*program).dma_bytes);
  EXPECT_EQ(simulate(*program, {{8}}).body, simulate(*program).body);
  EXPECT_EQ(simulate(*program, {{4}}).dma_bytes, 8 * 4 + 4 * 3 * 4 * 4);
}

}  // namespace
}  // namespace neuron_sim
