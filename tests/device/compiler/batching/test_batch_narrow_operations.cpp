#include "device/compiler/batching/batch_narrow_operations.h"

#include "device/builder/builder.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

using Widths = std::vector<int64_t>;

constexpr Dtype kFloat = Dtype::kFloat32;

/// out[i] = in[i] / sum over the row of `width` values, `tiles` times, in partitions from `first`.
std::shared_ptr<const Program> row_sums(int64_t tiles, int64_t width, Dtype dtype = kFloat,
                                        int64_t partitions = 128) {
  Builder builder("row_sums", load_architecture("trn2"));
  const View in = builder.argument("in", {tiles, partitions, width}, dtype);
  const View out = builder.argument("out", {tiles, partitions, width}, dtype);
  builder.loop(tiles, [&](const Affine& i) {
    const View data = builder.sbuf("data", {partitions, width}, dtype);
    const View sum = builder.sbuf("sum", {partitions, 1}, kFloat);
    const View factor = builder.sbuf("factor", {partitions, 1}, kFloat);
    builder.emit(DmaCopy{.dst = data, .src = in.select(0, i)});
    builder.emit(TensorReduce{.dst = sum, .data = data, .op = AluOp::kMaximum});
    builder.emit(Reciprocal{factor, sum});
    builder.emit(
        TensorScalar{.dst = data, .data = data, .operand0 = factor, .op0 = AluOp::kMultiply});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = data});
  });
  return builder.finish();
}

StraightLine batched(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "batch_narrow_operations");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return line;
}

TEST(BatchNarrowOperations, AResultOfOneElementIsBatchedAndTheLoopIsSplitAroundIt) {
  const StraightLine line = batched(row_sums(3, 300));
  EXPECT_EQ(names(line), (std::vector<std::string_view>{
                             "dma_copy", "tensor_reduce", "dma_copy", "tensor_reduce", "dma_copy",
                             "tensor_reduce", "reciprocal", "tensor_scalar", "dma_copy",
                             "tensor_scalar", "dma_copy", "tensor_scalar", "dma_copy"}));
  EXPECT_EQ(widths(line, "reciprocal"), Widths{3});
  EXPECT_EQ(widths(line, "tensor_reduce"), (Widths{1, 1, 1}));
}

TEST(BatchNarrowOperations, TheWidestOperandHasAtMost512Elements) {
  // Two rows of 256 are 512 elements, two of 257 are 514.
  EXPECT_EQ(widths(batched(row_sums(2, 256)), "tensor_reduce"), Widths{2});
  EXPECT_EQ(widths(batched(row_sums(2, 257)), "tensor_reduce"), (Widths{1, 1}));
  EXPECT_EQ(widths(batched(row_sums(512, 1)), "tensor_reduce"), Widths{512});
  EXPECT_EQ(widths(batched(row_sums(513, 1)), "tensor_reduce"), Widths(513, 1));
}

TEST(BatchNarrowOperations, OtherDtypesPartitionsAndSizeOneKeepTheirBytes) {
  for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kInt32}) {
    EXPECT_EQ(widths(batched(row_sums(3, 7, dtype, 37)), "reciprocal"), Widths{3});
  }
  EXPECT_EQ(widths(batched(row_sums(1, 1)), "reciprocal"), Widths{1});
  EXPECT_EQ(widths(batched(row_sums(7, 1, kFloat, 1)), "tensor_reduce"), Widths{7});
}

TEST(BatchNarrowOperations, WhatDependsOnTheIterationBeforeStays) {
  Builder builder("running_maximum", load_architecture("trn2"));
  const View in = builder.argument("in", {4, 128, 600}, kFloat);
  const View out = builder.argument("out", {128, 1}, kFloat);
  const View best = builder.sbuf("best", {128, 1}, kFloat);
  builder.emit(DmaCopy{.dst = best, .src = in.select(0, 0).slice(1, 0, 1)});
  builder.loop(4, [&](const Affine& i) {
    const View data = builder.sbuf("data", {128, 600}, kFloat);
    const View one = builder.sbuf("one", {128, 1}, kFloat);
    builder.emit(DmaCopy{.dst = data, .src = in.select(0, i)});
    builder.emit(TensorReduce{.dst = one, .data = data, .op = AluOp::kMaximum});
    builder.emit(TensorTensor{.dst = best, .data1 = best, .data2 = one, .op = AluOp::kMaximum});
  });
  builder.emit(DmaCopy{.dst = out, .src = best});
  EXPECT_EQ(widths(batched(builder.finish()), "tensor_tensor"), (Widths{1, 1, 1, 1}));
}

TEST(BatchNarrowOperations, APointerThatDiffersPerInstanceForbidsIt) {
  for (const bool shared : {true, false}) {
    Builder builder("pointer", load_architecture("trn2"));
    const View in = builder.argument("in", {3, 128, 2}, kFloat);
    const View out = builder.argument("out", {3, 128, 1}, kFloat);
    const View fixed = builder.sbuf("fixed", {128, 1}, kFloat);
    builder.emit(DmaCopy{.dst = fixed, .src = in.select(0, 0).slice(1, 0, 1)});
    builder.loop(3, [&](const Affine& i) {
      const View data = builder.sbuf("data", {128, 2}, kFloat);
      const View result = builder.sbuf("result", {128, 1}, kFloat);
      builder.emit(DmaCopy{.dst = data, .src = in.select(0, i)});
      builder.emit(Activate{.dst = result,
                            .data = data.slice(1, 0, 1),
                            .op = Activation::kExp,
                            .bias_tile = shared ? fixed : data.slice(1, 1, 1)});
      builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
    });
    EXPECT_EQ(widths(batched(builder.finish()), "activation"), shared ? Widths{3} : Widths(3, 1));
  }
}

/// Row maxima straight out of PSUM, which the second pass over it reads as well.
std::shared_ptr<const Program> maxima_of_banks(int64_t tiles) {
  Builder builder("banks", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 512}, kFloat);
  const View out = builder.argument("out", {tiles, 128, 512}, kFloat);
  const View data = builder.sbuf("data", {128, 512}, kFloat);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.loop(tiles, [&](const Affine& i) {
    const View product = builder.psum("product", {128, 512});
    const View most = builder.sbuf("most", {128, 1}, kFloat);
    const View factor = builder.sbuf("factor", {128, 1}, kFloat);
    const View result = builder.sbuf("result", {128, 512}, kFloat);
    builder.emit(NcMatmul{.dst = product, .stationary = data.slice(1, i * 4, 128), .moving = data});
    builder.emit(TensorReduce{.dst = most, .data = product, .op = AluOp::kMaximum});
    builder.emit(Reciprocal{factor, most});
    builder.emit(
        TensorScalar{.dst = result, .data = product, .operand0 = factor, .op0 = AluOp::kMultiply});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = result});
  });
  return builder.finish();
}

TEST(BatchNarrowOperations, LoopsThatKeepMoreTilesThanThereAreBanksAreNotSplit) {
  EXPECT_EQ(widths(batched(maxima_of_banks(8)), "reciprocal"), Widths{8});
  EXPECT_EQ(widths(batched(maxima_of_banks(9)), "reciprocal"), Widths(9, 1));
}

TEST(BatchNarrowOperations, LoopsThatKeepMoreTilesThanSbufHoldsAreNotSplit) {
  // Per iteration the row lives across the split, and its maximum or its reciprocal.
  const int64_t room = load_architecture("trn2").limits.sbuf_usable.count - kDescriptorBytes;
  const int64_t width = 2047, tiles = room / (4 * width + 4);
  EXPECT_EQ(widths(batched(row_sums(tiles, width)), "reciprocal"), Widths{tiles});
  EXPECT_EQ(widths(batched(row_sums(tiles + 1, width)), "reciprocal"),
            Widths(static_cast<size_t>(tiles) + 1, 1));
}

}  // namespace
}  // namespace neuron_sim
