#include "device/isa/elementwise/tensor_tensor.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/tensor_tensor_tiles.h"

namespace neuron_sim {
namespace {

TEST(TensorTensorChecks, TheDefaultEngineIsVectorUnlessAllAre32BitIntegersInSbuf) {
  auto engine = [](TensorTensorTiles tiles) {
    return tiles.bench.prepare(tiles.instruction).engine;
  };
  EXPECT_EQ(engine(dense_tiles(kFp32, {2, 2})), EngineKind::kVector);
  EXPECT_EQ(engine(dense_tiles(Dtype::kInt16, {2, 2})), EngineKind::kVector);
  EXPECT_EQ(engine(dense_tiles(Dtype::kInt32, {2, 2})), EngineKind::kGpSimd);
  EXPECT_EQ(engine(dense_tiles(Dtype::kUint32, {2, 2})), EngineKind::kGpSimd);
  EXPECT_EQ(engine(dense_tiles(Dtype::kInt32, {2, 2}, kPsum)), EngineKind::kVector);
  TensorTensorTiles divide = dense_tiles(Dtype::kInt32, {2, 2});
  divide.instruction.op = AluOp::kDivide;
  EXPECT_EQ(engine(divide), EngineKind::kVector);
}

TEST(TensorTensorChecks, LimitsAreCheckedFromBothSides) {
  EXPECT_EQ(dense_tiles(kFp32, {128, 2}).error(), "");
  EXPECT_EQ(dense_tiles(kFp32, {256, 2}).error(),
            "number of partitions 256 exceed architecture limitation of 128. (instruction "
            "'tensor_tensor', operand 'dst', architecture trn2)");
  EXPECT_EQ(dense_tiles(kBf16, {1, 65536}).error(), "");
  EXPECT_EQ(dense_tiles(kBf16, {1, 65537}).error(),
            "number of elements per partition 65537 in 'dst[1, 65537]' of 'tensor_tensor' exceed "
            "architecture limitation of 65536 in sbuf. (instruction 'tensor_tensor', operand "
            "'dst', architecture trn2)");
  EXPECT_EQ(dense_tiles(kFp32, {1, 4096}, kPsum).error(), "");
  EXPECT_EQ(dense_tiles(kFp32, {1, 4097}, kPsum).error(),
            "number of elements per partition 4097 in 'data1[1, 4097]' of 'tensor_tensor' exceed "
            "architecture limitation of 4096 in psum. (instruction 'tensor_tensor', operand "
            "'data1', architecture trn2)");
}

TEST(TensorTensorChecks, MismatchedShapesHaveTheVendorsSentence) {
  TensorTensorTiles tiles = dense_tiles(kFp32, {128, 512});
  tiles.instruction.data2 = tiles.bench.tile(kSbuf, kFp32, {1, 512}, "b");
  EXPECT_EQ(tiles.error(),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters "
            "(data1[128, 512], data2[1, 512]) of 'tensor_tensor'");
  tiles.instruction.data2 = tiles.bench.tile(kSbuf, kFp32, {128, 1}, "b");
  EXPECT_EQ(tiles.error(),
            "number of elements per partition mismatch in parameters (data1[128, 512], "
            "data2[128, 1]) of 'tensor_tensor'");
}

TEST(TensorTensorChecks, TwoInputsInPsumAreAnError) {
  EXPECT_EQ(dense_tiles(kFp32, {2, 2}, kPsum, kSbuf).error(), "");
  EXPECT_EQ(dense_tiles(kFp32, {2, 2}, kSbuf, kPsum).error(), "");
  EXPECT_EQ(dense_tiles(kFp32, {2, 2}, kPsum, kPsum).error(),
            "operands 'data1' and 'data2' of 'tensor_tensor' are both in PSUM; at most one input "
            "may be (architecture trn2).");
}

TEST(TensorTensorChecks, MemoriesEnginesDtypesAndOperatorsAreChecked) {
  EXPECT_EQ(dense_tiles(kFp32, {2, 2}, kHbm).error(),
            "Expected operand 'data1' of 'tensor_tensor' to be in address space 'psum|sbuf', but "
            "got a tile in 'hbm' instead.");
  TensorTensorTiles psum = dense_tiles(kFp32, {2, 2}, kPsum);
  psum.instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(psum.error(),
            "Expected operand 'data1' of 'tensor_tensor' to be in address space 'sbuf', but got a "
            "tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
  TensorTensorTiles scalar = dense_tiles(kFp32, {2, 2});
  scalar.instruction.engine = EngineKind::kScalar;
  EXPECT_EQ(scalar.error(),
            "instruction 'tensor_tensor' cannot run on the Scalar engine; architecture trn2 has "
            "it on: Vector, GpSimd.");
  TensorTensorTiles bitwise = dense_tiles(kFp32, {2, 2});
  bitwise.instruction.op = AluOp::kBitwiseAnd;
  EXPECT_EQ(bitwise.error(),
            "dtype float32 of operand 'dst' of 'tensor_tensor' is not supported; expected "
            "integers of one size for the bitwise operator bitwise_and.");
  EXPECT_EQ(bitwise.bench.error_kind(bitwise.instruction), ErrorKind::kType);
  TensorTensorTiles none = dense_tiles(kFp32, {2, 2});
  none.instruction.op = AluOp::kNone;
  EXPECT_EQ(none.error(),
            "operator 'none' of 'tensor_tensor' is not supported; it needs an operator on two "
            "operands.");
  none.instruction.op = AluOp::kAbs;
  EXPECT_EQ(none.error(),
            "operator 'abs' of 'tensor_tensor' is not supported; it needs an operator on two "
            "operands.");
}

TEST(TensorTensorChecks, DemandsTheRateClassOfItsOperands) {
  auto step = [](const TensorTensorTiles& tiles) {
    Demand demand = tiles.bench.demand(tiles.instruction);
    EXPECT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kElementwise);
    return demand.steps[0];
  };
  Step fp32 = step(dense_tiles(kFp32, {128, 40}));
  EXPECT_EQ(fp32.rate, RateClass::kTwoInputs);
  EXPECT_EQ(fp32.elements, 40);
  EXPECT_FALSE(fp32.source_psum || fp32.strided || fp32.pointer_operand);
  EXPECT_EQ(step(dense_tiles(Dtype::kFloat16, {2, 2})).rate, RateClass::kTwoInputs16bit);
  TensorTensorTiles bf16 = dense_tiles(kBf16, {2, 8});
  for (const AluOp op : {AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply}) {
    bf16.instruction.op = op;
    EXPECT_EQ(step(bf16).rate, RateClass::kTwoInputsBf16) << name(op);
  }
  bf16.instruction.op = AluOp::kMaximum;
  EXPECT_EQ(step(bf16).rate, RateClass::kTwoInputs16bit);
  bf16.instruction.op = AluOp::kAdd;
  bf16.instruction.data2 = bf16.bench.tile(kSbuf, kBf16, {2, 16}, "s").slice(1, 0, 8, 2);
  EXPECT_EQ(step(bf16).rate, RateClass::kTwoInputs16bit);
  EXPECT_EQ(step(dense_tiles(Dtype::kInt32, {2, 2})).rate, RateClass::kGpSimdTwoInputs);
  Step psum = step(dense_tiles(kBf16, {2, 2}, kSbuf, kPsum));
  EXPECT_EQ(psum.rate, RateClass::kTwoInputsPsum);
  EXPECT_TRUE(psum.source_psum);
  TensorTensorTiles strided = dense_tiles(kFp32, {2, 8});
  strided.instruction.data2 = strided.bench.tile(kSbuf, kFp32, {2, 32}, "b").slice(1, 0, 8, 4);
  EXPECT_FALSE(step(strided).strided) << "16 bytes do not exceed 16 bytes";
  strided.instruction.data2 = strided.bench.tile(kSbuf, kFp32, {2, 40}, "b").slice(1, 0, 8, 5);
  EXPECT_TRUE(step(strided).strided);
}

}  // namespace
}  // namespace neuron_sim
