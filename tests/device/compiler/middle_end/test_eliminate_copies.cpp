// Copies within SBUF; those out of PSUM have tests of their own.

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/middle_end/elide_psum_copies.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

enum class Source { kDense, kStrided, kOverwritten, kCast };

/// out = (copy of columns 3 .. 7 of the input) + 1
std::shared_ptr<const Program> copied_columns(Source source) {
  Builder builder("copied", load_architecture("trn2"));
  const View in = builder.argument("in", {9, 16}, Dtype::kFloat32);
  const View out = builder.argument("out", {9, 5}, Dtype::kFloat32);
  const View data = builder.sbuf("data", {9, 16}, Dtype::kFloat32);
  const Dtype dtype = source == Source::kCast ? Dtype::kBfloat16 : Dtype::kFloat32;
  const View copy = builder.sbuf("copy", {9, 5}, dtype);
  const View sum = builder.sbuf("sum", {9, 5}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = data, .src = in});
  builder.emit(TensorCopy{copy, data.slice(1, 3, 5, source == Source::kStrided ? 2 : 1)});
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

}  // namespace
}  // namespace neuron_sim
