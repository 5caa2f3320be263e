#include "device/compiler/line/input_loads.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/settings/compiler_costs.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

TEST(InputLoads, AreThoseFromTensorsThatNothingWrites) {
  Builder builder("loads", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 8}, kFloat);
  const View out = builder.argument("out", {128, 8}, kFloat);
  const View constant =
      builder.constant("constant", {128, 8}, kFloat, std::vector<std::byte>(4096));
  const View copy = builder.argument("copy", {128, 8}, kFloat);
  const View x = builder.sbuf("x", {128, 8}, kFloat), y = builder.sbuf("y", {128, 8}, kFloat);
  builder.emit(DmaCopy{.dst = x, .src = in});        // 0: a load
  builder.emit(DmaCopy{.dst = out, .src = x});       // 1: a store
  builder.emit(DmaCopy{.dst = x, .src = out});       // 2: of what the program wrote
  builder.emit(DmaCopy{.dst = y, .src = constant});  // 3: a load
  builder.emit(DmaCopy{.dst = copy, .src = in});     // 4: within HBM
  builder.emit(DmaCopy{.dst = x, .src = y});         // 5: within SBUF
  EXPECT_EQ(input_loads(*unroll(*builder.finish()).line), (std::vector<uint32_t>{0, 3}));
}

TEST(InputLoads, AProgramWithoutInstructionsHasNone) {
  Builder builder("empty", load_architecture("trn2"));
  EXPECT_TRUE(input_loads(*unroll(*builder.finish()).line).empty());
}

/// Memsets on Vector, then a load of `columns` fp32 values in each of 128 partitions.
StraightLine load_after(int64_t memsets, int64_t columns) {
  Builder builder("load_after", load_architecture("trn2"));
  const View in = builder.argument("in", {128, columns}, kFloat);
  builder.loop(memsets, [&](const Affine&) {
    builder.emit(Memset{builder.sbuf("set", {128, 1120}, kFloat), 1, EngineKind::kVector});
  });
  builder.emit(DmaCopy{.dst = builder.sbuf("x", {128, columns}, kFloat), .src = in});
  return *unroll(*builder.finish()).line;
}

/// Nanoseconds of one of those memsets, and of the load, by the compiler's own costs.
double memset_time() {
  return compiler_costs().vector_overhead_ns + 1120 / compiler_costs().vector_ghz;
}
double load_time(int64_t columns) {
  const CompilerCosts& costs = compiler_costs();
  return costs.trigger_ns + costs.dma_fixed_ns +
         static_cast<double>(128 * columns * 4) / costs.dma_bytes_per_ns;
}

TEST(IssuePositions, ALoadIsIssuedAsLongBeforeItsPlaceAsItTakes) {
  for (const int64_t columns : {1, 512, 2048}) {
    const StraightLine line = load_after(20, columns);
    const auto issued = static_cast<double>(IssuePositions(line).of(20));
    EXPECT_LE(issued * memset_time() + load_time(columns), 20 * memset_time()) << columns;
    EXPECT_GT((issued + 1) * memset_time() + load_time(columns), 20 * memset_time()) << columns;
  }
}

TEST(IssuePositions, ALoadThatNothingLongEnoughPrecedesIsIssuedFirst) {
  EXPECT_EQ(IssuePositions(load_after(1, 512)).of(1), 0U);
  EXPECT_EQ(IssuePositions(load_after(0, 512)).of(0), 0U);
}

TEST(IssuePositions, LoadsFollowEachOtherOnThePipeThatTheyShare) {
  Builder builder("loads", load_architecture("trn2"));
  const View in = builder.argument("in", {8, 128, 512}, kFloat);
  builder.loop(8, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = builder.sbuf("x", {128, 512}, kFloat), .src = in.select(0, i)});
  });
  const StraightLine line = *unroll(*builder.finish()).line;
  const double each = 128 * 512 * 4 / compiler_costs().dma_bytes_per_ns;
  const double due = 7 * each - load_time(512);
  EXPECT_EQ(IssuePositions(line).of(7), static_cast<uint32_t>(due / each));
}

}  // namespace
}  // namespace neuron_sim
