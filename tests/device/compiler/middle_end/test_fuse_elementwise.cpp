#include "device/compiler/middle_end/fuse_elementwise.h"

#include "device/builder/builder.h"
#include "device/isa/activation/activation.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out = a chain of two instructions on [128, 64] x, with a column and a further tile y of inputs.
struct Chain {
  Dtype between = Dtype::kFloat32;
  bool is_read_twice = false;  ///< the result of the first instruction
  int64_t offset = 0;          ///< of the elements of it that the second one reads

  /// `second(dst, middle, y, column)` is the second instruction.
  template <typename Second>
  std::shared_ptr<const Program> program(TensorScalar first, Second second) const {
    Builder builder("chain", load_architecture("trn2"));
    const View in = builder.argument("in", {128, 129}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, 64}, Dtype::kFloat32);
    const View all = builder.sbuf("all", {128, 129}, Dtype::kFloat32);
    const View middle = builder.sbuf("middle", {128, 64 + offset}, between);
    const View result = builder.sbuf("result", {128, 64}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = all, .src = in});
    const View column = all.slice(1, 128, 1);
    first.dst = middle;
    first.data = all.slice(1, 0, 64 + offset);
    if (first.op0 == AluOp::kSubtract) first.operand0 = column;
    builder.emit(first);
    builder.emit(second(result, middle.slice(1, offset, 64), all.slice(1, 64, 64), column));
    if (is_read_twice) builder.emit(TensorTensor{result, result, middle.slice(1, 0, 64)});
    builder.emit(DmaCopy{.dst = out, .src = result});
    return builder.finish();
  }
};

const TensorScalar kScales{.op0 = AluOp::kMultiply, .constant0 = 0.3};
const TensorScalar kLessColumn{.op0 = AluOp::kSubtract, .reverse0 = true};

TensorScalar add_column(View dst, View middle, View, View column) {
  return {.dst = dst, .data = middle, .operand0 = column, .op0 = AluOp::kAdd};
}
TensorTensor less_tile(View dst, View middle, View tile, View) {
  return {dst, middle, tile, AluOp::kSubtract};
}
TensorTensor from_tile(View dst, View middle, View tile, View) {
  return {dst, tile, middle, AluOp::kSubtract};
}
Activate exponential(View dst, View middle, View, View) {
  return {.dst = dst, .data = middle, .op = Activation::kExp};
}
Activate scaled_exponential(View dst, View middle, View, View) {
  return {.dst = dst, .data = middle, .op = Activation::kExp, .scale = 2};
}

/// The instructions after the pass, which keeps every byte, but the transfers at both ends.
std::vector<std::string_view> fused(const std::shared_ptr<const Program>& program) {
  StraightLine line = renamed_line(*program);
  run_pass(line, "fuse_elementwise");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  const std::vector<std::string_view> all = names(line);
  return {all.begin() + 1, all.end() - 1};
}

using Names = std::vector<std::string_view>;

TEST(FuseElementwise, TwoOperationsOnScalarsBecomeOneInstruction) {
  EXPECT_EQ(fused(Chain{}.program(kScales, add_column)), Names{"tensor_scalar"});
  EXPECT_EQ(fused(Chain{}.program(kLessColumn, add_column)), Names{"tensor_scalar"});
}

TEST(FuseElementwise, AnOperationOnTwoTilesTakesTheScalarOfOne) {
  EXPECT_EQ(fused(Chain{}.program(kScales, less_tile)), Names{"scalar_tensor_tensor"});
  EXPECT_EQ(fused(Chain{}.program(kLessColumn, from_tile)), Names{"scalar_tensor_tensor"});
}

TEST(FuseElementwise, AnActivationTakesScaleOrBias) {
  const TensorScalar adds{.op0 = AluOp::kAdd, .constant0 = 0.5};
  EXPECT_EQ(fused(Chain{}.program(kScales, exponential)), Names{"activation"});
  EXPECT_EQ(fused(Chain{}.program(adds, exponential)), Names{"activation"});
}

TEST(FuseElementwise, WhatOneInstructionCannotDoStays) {
  const Names both{"tensor_scalar", "activation"};
  EXPECT_EQ(fused(Chain{}.program(kLessColumn, exponential)), both);
  EXPECT_EQ(fused(Chain{}.program(kScales, scaled_exponential)), both);
  TensorScalar two = kScales;
  two.op1 = AluOp::kAdd;
  EXPECT_EQ(fused(Chain{}.program(two, add_column)).size(), 2U);
}

TEST(FuseElementwise, AResultThatIsRoundedOrReadAgainStays) {
  EXPECT_EQ(fused(Chain{.between = Dtype::kBfloat16}.program(kScales, add_column)).size(), 2U);
  EXPECT_EQ(fused(Chain{.is_read_twice = true}.program(kScales, add_column)).size(), 3U);
}

TEST(FuseElementwise, AReaderOfSomeElementsStays) {
  EXPECT_EQ(fused(Chain{.offset = 1}.program(kScales, add_column)).size(), 2U);
}

TEST(FuseElementwise, InputsThatAreOverwrittenBetweenAreReadBefore) {
  Builder builder("overwritten", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 64}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, 64}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {128, 64}, Dtype::kFloat32);
  const View y = builder.sbuf("y", {128, 64}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.emit(TensorScalar{.dst = y, .data = x, .op0 = AluOp::kMultiply, .constant0 = 3});
  builder.emit(TensorCopy{x.slice(1, 0, 32), x.slice(1, 32, 32)});
  builder.emit(TensorTensor{y, y, x, AluOp::kAdd});
  builder.emit(DmaCopy{.dst = out, .src = y});
  EXPECT_EQ(fused(builder.finish()).size(), 3U);
}

}  // namespace
}  // namespace neuron_sim
