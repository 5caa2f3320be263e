// On kernels to which no measurement is attached.

#include "device/compiler/batching/gather_operands.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

/// Elements per partition of the copies within SBUF that the pass adds to a kernel; the bytes are
/// those of `program`.
std::vector<int64_t> gathered(const std::shared_ptr<const Program>& program) {
  StraightLine line = *unroll(*program).line;
  run_pass(line, "rename_buffers");
  run_pass(line, "gather_operands");
  std::vector<int64_t> widths;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kTensorCopy) continue;
    const Operand& source = line.operands_of(instance)[1];
    if (source.memory == MemoryKind::kSbuf) widths.push_back(view_of(line, source).free_elements());
  }
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));
  EXPECT_EQ(bytes_after(program), bytes_after(lower(std::move(line))));
  return widths;
}

/// Products of `columns` weights per tap, taps side by side in memory, with rows of 6 columns.
std::shared_ptr<const Program> taps(Dtype dtype, int64_t columns, int64_t count) {
  Builder builder("taps", load_architecture("trn1"));
  const View weights = builder.sbuf("weights", {8, columns, count}, dtype);
  builder.emit(DmaCopy{.dst = weights, .src = builder.argument("in", {8, columns, count}, dtype)});
  const View rows = builder.sbuf("rows", {8, 6}, dtype);
  builder.emit(DmaCopy{.dst = rows, .src = builder.argument("rows", {8, 6}, dtype)});
  const View out = builder.argument("out", {count, columns, 6}, Dtype::kFloat32);
  builder.loop(count, [&](const Affine& tap) {
    const View sums = builder.psum("sums", {columns, 6});
    const View stationary = weights.slice(2, tap, 1).select(2, 0);
    builder.emit(NcMatmul{.dst = sums, .stationary = stationary, .moving = rows});
    const View result = builder.sbuf("result", {columns, 6}, Dtype::kFloat32);
    builder.emit(TensorCopy{result, sums});
    builder.emit(DmaCopy{.dst = out.select(0, tap), .src = result});
  });
  return builder.finish();
}

TEST(GatherOperands, WeightsOfALoopAreGatheredTogether) {
  EXPECT_EQ(gathered(taps(Dtype::kFloat16, 16, 9)), std::vector<int64_t>{144});
  EXPECT_EQ(gathered(taps(Dtype::kFloat32, 16, 5)), std::vector<int64_t>{80});
}

TEST(GatherOperands, ACopyHasAtMost512Elements) {
  EXPECT_EQ(gathered(taps(Dtype::kFloat16, 128, 9)), (std::vector<int64_t>{512, 512, 128}));
}

TEST(GatherOperands, WeightsAtMost16BytesApartAreLoadedWhereTheyLie) {
  EXPECT_EQ(gathered(taps(Dtype::kFloat16, 16, 8)), std::vector<int64_t>{});
  EXPECT_EQ(gathered(taps(Dtype::kFloat32, 16, 4)), std::vector<int64_t>{});
}

/// A product that streams two rows of 5 columns of an image.
std::shared_ptr<const Program> window(Dtype dtype, int64_t columns) {
  Builder builder("window", load_architecture("trn1"));
  const View image = builder.sbuf("image", {8, 4, 7}, dtype);
  builder.emit(DmaCopy{.dst = image, .src = builder.argument("in", {8, 4, 7}, dtype)});
  const View out = builder.argument("out", {7, 2 * columns}, Dtype::kFloat32);
  const View sums = builder.psum("sums", {7, 2 * columns});
  const View moving = image.slice(1, 1, 2).slice(2, 0, columns);
  builder.emit(NcMatmul{.dst = sums, .stationary = image.select(1, 0), .moving = moving});
  const View result = builder.sbuf("result", {7, 2 * columns}, Dtype::kFloat32);
  builder.emit(TensorCopy{result, sums});
  builder.emit(DmaCopy{.dst = out, .src = result});
  return builder.finish();
}

TEST(GatherOperands, WindowsOfFourByteElementsAreGatheredUnlessTheyAreOneRun) {
  EXPECT_EQ(gathered(window(Dtype::kFloat32, 5)), std::vector<int64_t>{10});
  EXPECT_EQ(gathered(window(Dtype::kFloat32, 7)), std::vector<int64_t>{});
  EXPECT_EQ(gathered(window(Dtype::kFloat16, 5)), std::vector<int64_t>{});
}

TEST(GatherOperands, WhatATransposeLoadsIsGatheredToo) {
  Builder builder("turned", load_architecture("trn1"));
  const View data = builder.sbuf("data", {64, 64, 9}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = builder.argument("in", {64, 64, 9}, Dtype::kFloat32)});
  const View out = builder.argument("out", {64, 64}, Dtype::kFloat32);
  const View turned = builder.psum("turned", {64, 64});
  builder.emit(NcTranspose{.dst = turned, .data = data.slice(2, 3, 1).select(2, 0)});
  const View result = builder.sbuf("result", {64, 64}, Dtype::kFloat32);
  builder.emit(TensorCopy{result, turned});
  builder.emit(DmaCopy{.dst = out, .src = result});
  EXPECT_EQ(gathered(builder.finish()), std::vector<int64_t>{64});
}

}  // namespace
}  // namespace neuron_sim
