// Copies within SBUF; those out of PSUM have tests of their own. Kernels to which no measurement is
// attached: windows of an image, row by row, as convolutions copy them.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/middle_end/eliminate_copies.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

enum class Source { kDense, kStrided, kOverwritten, kCast, kOtherPartitions };

/// out = (copy of columns 3 .. 7 of the input) + 1
std::shared_ptr<const Program> copied_columns(Source source) {
  Builder builder("copied", load_architecture("trn2"));
  const View in = builder.argument("in", {73, 16}, Dtype::kFloat32);
  const View out = builder.argument("out", {9, 5}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {73, 16}, Dtype::kFloat32);
  const View rows = data.slice(0, source == Source::kOtherPartitions ? 64 : 0, 9);
  const Dtype dtype = source == Source::kCast ? Dtype::kBfloat16 : Dtype::kFloat32;
  const View copy = builder.sbuf("copy", {9, 5}, dtype);
  const View sum = builder.sbuf("sum", {9, 5}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.emit(TensorCopy{copy, rows.slice(1, 3, 5, source == Source::kStrided ? 2 : 1)});
  if (source == Source::kOverwritten) {
    builder.emit(TensorCopy{data.slice(1, 4, 1), data.slice(1, 0, 1)});
  }
  builder.emit(TensorScalar{.dst = sum, .data = copy, .op0 = AluOp::kAdd, .constant0 = 1});
  builder.emit(DmaCopy{.dst = out, .src = sum});
  if (source == Source::kOverwritten) builder.emit(DmaCopy{.dst = in, .src = data});
  return builder.finish();
}

/// Copies that are left; the bytes are those of `program`.
size_t copies_left(const std::shared_ptr<const Program>& program) {
  StraightLine line = *unroll(*program).line;
  run_pass(line, "rename_buffers");
  run_pass(line, "eliminate_copies");
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));
  const std::shared_ptr<const Program> after = lower(std::move(line));
  EXPECT_EQ(bytes_after(program), bytes_after(after));
  return instructions_named(*after, "tensor_copy").size();
}

TEST(EliminateCopies, ReadersOfACopyReadItsSource) {
  EXPECT_EQ(copies_left(copied_columns(Source::kDense)), 0U);
}

TEST(EliminateCopies, CopiesThatGatherStay) {
  EXPECT_EQ(copies_left(copied_columns(Source::kStrided)), 1U);
}

TEST(EliminateCopies, CopiesOfWhatChangesLaterStay) {
  EXPECT_EQ(copies_left(copied_columns(Source::kOverwritten)), 2U);
}

TEST(EliminateCopies, CopiesThatCastStay) {
  EXPECT_EQ(copies_left(copied_columns(Source::kCast)), 1U);
}

TEST(EliminateCopies, CopiesToOtherPartitionsStay) {
  EXPECT_EQ(copies_left(copied_columns(Source::kOtherPartitions)), 1U);
}

/// How a kernel uses windows of 3 rows and 5 columns of an image.
enum class Window { kProducts, kSum, kStored, kReduced, kChanged, kRewritten };

/// Multiplies each of four windows of an image [8, 6 x 7]: rows are copied one by one into a tile.
std::shared_ptr<const Program> windows(Window use) {
  Builder builder("windows", load_architecture("trn1"));
  constexpr Dtype kFloat = Dtype::kFloat32;
  const View in = builder.argument("in", {8, 6, 7}, kFloat);
  const View out = builder.argument("out", {4, 8, 15}, kFloat);
  const View image = builder.sbuf("image", {8, 6, 7}, kFloat);
  builder.emit(DmaCopy{.dst = image, .src = in});
  const View weights = builder.sbuf("weights", {8, 8}, kFloat);
  builder.emit(DmaCopy{.dst = weights, .src = builder.argument("weights", {8, 8}, kFloat)});
  builder.loop(4, [&](const Affine& w) {
    const View window = builder.sbuf("window", {8, 15}, kFloat);
    builder.loop(3, [&](const Affine& row) {
      const View source = image.slice(1, w + row, 1).select(1, 0).slice(1, 2, 5);
      builder.emit(TensorCopy{window.slice(1, row * 5, 5), source});
      if (use == Window::kChanged)
        builder.emit(TensorCopy{source, image.select(1, 0).slice(1, 0, 5)});
    });
    if (use == Window::kRewritten) {
      builder.emit(TensorCopy{window.slice(1, 4, 1), window.slice(1, 0, 1)});
    }
    const View result = builder.sbuf("result", {8, 15}, kFloat);
    if (use == Window::kStored) {
      builder.emit(DmaCopy{.dst = out.select(0, w), .src = window});
      return;
    }
    if (use == Window::kSum) {  // two-dimensional: each row is one of the image
      const View rows = window.split(1, 3, 5);
      builder.emit(TensorScalar{
          .dst = result.split(1, 3, 5), .data = rows, .op0 = AluOp::kAdd, .constant0 = 1});
    } else if (use == Window::kReduced) {  // one-dimensional: its 15 elements are in three rows
      builder.emit(TensorReduce{.dst = result.slice(1, 0, 1), .data = window, .op = AluOp::kAdd});
      builder.emit(TensorScalar{.dst = result, .data = window, .op0 = AluOp::kAdd, .constant0 = 1});
    } else {
      const View sums = builder.psum("sums", {8, 15});
      builder.emit(NcMatmul{.dst = sums, .stationary = weights, .moving = window});
      builder.emit(TensorCopy{result, sums});
    }
    builder.emit(DmaCopy{.dst = out.select(0, w), .src = result});
  });
  if (use == Window::kChanged) builder.emit(DmaCopy{.dst = in, .src = image});
  return builder.finish();
}

TEST(EliminateCopies, ProductsReadWindowsThatWereCopiedRowByRow) {
  EXPECT_EQ(copies_left(windows(Window::kProducts)), 4U);  // of the sums
}

TEST(EliminateCopies, RowsOfAReaderMayBeRowsOfTheSource) {
  EXPECT_EQ(copies_left(windows(Window::kSum)), 0U);
}

TEST(EliminateCopies, OthersDoNotGetMoreDimensions) {
  EXPECT_EQ(copies_left(windows(Window::kReduced)), 12U);
}

TEST(EliminateCopies, TransfersKeepTheirRuns) {
  EXPECT_EQ(copies_left(windows(Window::kStored)), 12U);
}

TEST(EliminateCopies, WindowsOfWhatChangesLaterStay) {
  EXPECT_EQ(copies_left(windows(Window::kChanged)), 28U);  // 12 rows, 12 changes, 4 sums
}

TEST(EliminateCopies, ElementsThatAreWrittenTwiceStay) {
  EXPECT_EQ(copies_left(windows(Window::kRewritten)), 20U);  // 12 rows, 4 elements, 4 sums
}

/// A copy of a copy of rows, and a tile of which only one half is copied.
TEST(EliminateCopies, CopiesOfCopiesDisappearAndWhatStandsBesideThemStays) {
  Builder builder("chain", load_architecture("trn2"));
  constexpr Dtype kFloat = Dtype::kFloat32;
  const View in = builder.argument("in", {8, 4, 6}, kFloat);
  const View out = builder.argument("out", {8, 12}, kFloat);
  const View image = builder.sbuf("image", {8, 4, 6}, kFloat);
  const View rows = builder.sbuf("rows", {8, 3, 6}, kFloat);
  const View both = builder.sbuf("both", {8, 12}, kFloat);
  builder.emit(DmaCopy{.dst = image, .src = in});
  builder.loop(3, [&](const Affine& row) {
    builder.emit(TensorCopy{rows.slice(1, row, 1), image.slice(1, row + 1, 1)});
  });
  builder.emit(TensorCopy{both.slice(1, 0, 6), rows.select(1, 1)});
  builder.emit(TensorScalar{
      .dst = both.slice(1, 6, 6), .data = rows.select(1, 2), .op0 = AluOp::kAdd, .constant0 = 1});
  const View sum = builder.sbuf("sum", {8, 12}, kFloat);
  for (const int64_t half : {0, 6}) {
    builder.emit(TensorScalar{.dst = sum.slice(1, half, 6),
                              .data = both.slice(1, half, 6),
                              .op0 = AluOp::kMultiply,
                              .constant0 = 2});
  }
  builder.emit(DmaCopy{.dst = out, .src = sum});
  EXPECT_EQ(copies_left(builder.finish()), 0U);
}

}  // namespace
}  // namespace neuron_sim
