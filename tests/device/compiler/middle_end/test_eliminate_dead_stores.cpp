#include "device/compiler/middle_end/eliminate_dead_stores.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// out = zeros whose columns `first` .. `first + count - 1` are overwritten one by one.
std::shared_ptr<const Program> zeros_then_columns(int64_t width, int64_t first, int64_t count,
                                                  bool reads_first = false) {
  Builder builder("zeros", load_architecture("trn1"));
  const View in = builder.argument("in", {5, width}, kFloat);
  const View out = builder.argument("out", {5, width}, kFloat);
  const View data = builder.sbuf("data", {5, width}, kFloat);
  const View result = builder.sbuf("result", {5, width}, kFloat);
  const View before = builder.sbuf("before", {5, width}, kFloat);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.emit(Memset{result, 0.0});
  if (reads_first) builder.emit(TensorCopy{before, result});
  for (int64_t i = 0; i < count; ++i) {
    builder.emit(TensorCopy{result.slice(1, first + i, 1), data.slice(1, first + i, 1)});
  }
  builder.emit(DmaCopy{.dst = out, .src = reads_first ? before : result});
  return builder.finish();
}

/// Memsets that are left; the bytes are those of `program`.
size_t memsets_left(const std::shared_ptr<const Program>& program) {
  StraightLine line = *unroll(*program).line;
  run_pass(line, "rename_buffers");
  run_pass(line, "eliminate_dead_stores");
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));
  const std::shared_ptr<const Program> after = lower(std::move(line));
  EXPECT_EQ(bytes_after(program), bytes_after(after));
  return instructions_named(*after, "memset").size();
}

TEST(EliminateDeadStores, ZerosThatAreAllOverwrittenAreNotWritten) {
  EXPECT_EQ(memsets_left(zeros_then_columns(7, 0, 7)), 0U);
  EXPECT_EQ(memsets_left(zeros_then_columns(1, 0, 1)), 0U);
}

TEST(EliminateDeadStores, ZerosOfWhichAColumnIsLeftStay) {
  EXPECT_EQ(memsets_left(zeros_then_columns(7, 0, 6)), 1U);
  EXPECT_EQ(memsets_left(zeros_then_columns(7, 1, 6)), 1U);
}

TEST(EliminateDeadStores, ZerosThatAreReadBeforeTheyAreOverwrittenStay) {
  EXPECT_EQ(memsets_left(zeros_then_columns(7, 0, 7, true)), 1U);
}

TEST(EliminateDeadStores, ZerosThatTheInstructionReadsThatOverwritesThemStay) {
  Builder builder("sum", load_architecture("trn1"));
  const View in = builder.argument("in", {5, 7}, kFloat);
  const View out = builder.argument("out", {5, 7}, kFloat);
  const View data = builder.sbuf("data", {5, 7}, kFloat), sum = builder.sbuf("sum", {5, 7}, kFloat);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.emit(Memset{sum, 0.0});
  builder.emit(TensorTensor{sum, sum, data, AluOp::kAdd});
  builder.emit(DmaCopy{.dst = out, .src = sum});
  EXPECT_EQ(memsets_left(builder.finish()), 1U);
}

TEST(EliminateDeadStores, AnyNumberOfInstancesOverwritesContiguousZeros) {
  EXPECT_EQ(memsets_left(zeros_then_columns(64, 0, 64)), 0U);
  EXPECT_EQ(memsets_left(zeros_then_columns(65, 0, 65)), 0U);
  EXPECT_EQ(memsets_left(zeros_then_columns(200, 0, 199)), 1U);
}

TEST(EliminateDeadStores, TilesPlacedByHandStay) {
  Builder builder("placed", load_architecture("trn1"));
  const View in = builder.argument("in", {5, 7}, kFloat);
  const View out = builder.argument("out", {5, 7}, kFloat);
  const View tile = builder.place(MemoryKind::kSbuf, "tile", {5, 7}, kFloat, 64, 0, 1);
  builder.emit(Memset{tile, 0.0});
  builder.emit(DmaCopy{.dst = tile, .src = in});
  builder.emit(DmaCopy{.dst = out, .src = tile});
  EXPECT_EQ(memsets_left(builder.finish()), 1U);
}

}  // namespace
}  // namespace neuron_sim
