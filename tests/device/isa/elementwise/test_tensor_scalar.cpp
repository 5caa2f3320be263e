#include "device/isa/elementwise/tensor_scalar.h"

#include <cmath>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

using Tiles = InstructionTiles<TensorScalar>;

Tiles tiles_of(Dtype dtype, std::vector<int64_t> shape, const std::vector<double>& values = {},
               MemoryKind memory = kSbuf, Architecture architecture = test_architecture()) {
  Tiles tiles{.bench = InstructionBench(std::move(architecture)), .instruction = {}};
  tiles.instruction.dst = tiles.bench.tile(kSbuf, dtype, shape, "dst");
  tiles.instruction.data = tiles.bench.tile(memory, dtype, shape, "data");
  if (!values.empty()) tiles.bench.set(tiles.instruction.data, values);
  return tiles;
}

TEST(TensorScalar, OneOperatorWithAConstant) {
  Tiles tiles = tiles_of(kFp32, {2, 3}, {1, 2, 3, -4, 0, 10});
  tiles.instruction.constant0 = 2.5;
  expect_values(tiles.run(), {3.5, 4.5, 5.5, -1.5, 2.5, 12.5});
  tiles.instruction.op0 = AluOp::kGreaterEqual;
  expect_values(tiles.run(), {0, 0, 1, 0, 0, 1});
}

TEST(TensorScalar, ReverseSwapsEachOperatorOnItsOwn) {
  for (bool reverse0 : {false, true}) {
    for (bool reverse1 : {false, true}) {
      Tiles tiles = tiles_of(kFp32, {1, 3}, {1, 2, 4});
      TensorScalar& instruction = tiles.instruction;
      instruction.op0 = AluOp::kSubtract;
      instruction.constant0 = 10;
      instruction.reverse0 = reverse0;
      instruction.op1 = AluOp::kDivide;
      instruction.constant1 = 3;
      instruction.reverse1 = reverse1;
      std::vector<double> expected;
      for (double x : {1, 2, 4}) {
        double t = reverse0 ? 10 - x : x - 10;
        expected.push_back(stored(kFp32, reverse1 ? 3 / t : t / 3));
      }
      expect_values(tiles.run(), expected);
    }
  }
}

TEST(TensorScalar, TwoOperatorsRoundToFp32InBetween) {
  const double x = 1 + 0x1p-23, y = 1 - 0x1p-23;  // x * y = 1 - 2^-46 rounds to 1
  Tiles tiles = tiles_of(kFp32, {1, 33}, std::vector<double>(33, x));
  tiles.instruction.op0 = AluOp::kMultiply;
  tiles.instruction.constant0 = y;
  tiles.instruction.op1 = AluOp::kSubtract;
  tiles.instruction.constant1 = 1;
  expect_values(tiles.run(), std::vector<double>(33, 0.0));
}

TEST(TensorScalar, OperandTilesHoldOneValuePerPartition) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern source : source_patterns()) {
      for (Pattern target : target_patterns()) {
        Tiles tiles;
        TensorScalar& instruction = tiles.instruction;
        instruction.dst = pattern_view(tiles.bench, target, dtype, "dst");
        instruction.data = pattern_view(tiles.bench, source, dtype, "data");
        instruction.operand0 = tiles.bench.tile(kSbuf, kFp32, {3, 1}, "scale", {2, -1.5, 0.25});
        instruction.operand1 = tiles.bench.tile(kSbuf, kFp32, {3, 1}, "bias", {1, 2, -3});
        instruction.op0 = AluOp::kMultiply;
        instruction.op1 = AluOp::kAdd;
        instruction.engine = EngineKind::kVector;
        tiles.bench.set(instruction.data, random_values(kPatternValues, 0, 30));
        std::vector<double> data = tiles.bench.get(instruction.data);
        std::vector<double> scale = {2, -1.5, 0.25}, bias = {1, 2, -3}, expected;
        for (size_t i = 0; i < data.size(); ++i) {
          size_t p = i / kPatternElements;
          double product = round_to(kFp32, data[i] * scale[p]);
          expected.push_back(stored(dtype, product + bias[p]));
        }
        SCOPED_TRACE(std::string(name(dtype)));
        expect_values(tiles.run(), expected);
      }
    }
  }
}

TEST(TensorScalar, TheDestinationMayBeTheDataAndHoldTheOperand) {
  InstructionBench bench;
  View x = bench.tile(kSbuf, kFp32, {2, 3}, "x", {1, 2, 3, 4, 5, 6});
  TensorScalar instruction{.dst = x,
                           .data = x,
                           .operand0 = x.slice(1, 1, 1),
                           .operand1 = x.slice(1, 0, 1),
                           .op0 = AluOp::kMultiply,
                           .op1 = AluOp::kAdd};
  bench.run(instruction);
  expect_values(bench.get(x), {3, 5, 7, 24, 29, 34});
}

TEST(TensorScalar, NanAndInfinityPassThrough) {
  Tiles tiles = tiles_of(kFp32, {1, 3}, {std::nan(""), INFINITY, -INFINITY});
  tiles.instruction.op0 = AluOp::kMaximum;
  tiles.instruction.constant0 = 0;
  tiles.instruction.op1 = AluOp::kMultiply;
  tiles.instruction.constant1 = 0;
  expect_values(tiles.run(), {std::nan(""), std::nan(""), 0});
}

TEST(TensorScalar, IntegersAreExactOnGpsimdAndRoundedToFp32OnVector) {
  for (bool operand_tile : {false, true}) {
    Tiles tiles = tiles_of(Dtype::kInt32, {1, 2}, {16777217, 2147483647});
    TensorScalar& instruction = tiles.instruction;
    instruction.constant0 = 2;
    if (operand_tile) {
      instruction.operand0 = tiles.bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "two", {2});
    }
    instruction.engine = EngineKind::kGpSimd;
    expect_values(tiles.run(), {16777219, -2147483647});
    instruction.operand0 = View();
    instruction.engine = EngineKind::kVector;
    expect_values(tiles.run(), {16777218, 2147483647});
  }
}

TEST(TensorScalar, AFractionalConstantMakesGpsimdComputeInFp32) {
  Tiles tiles = tiles_of(Dtype::kInt32, {1, 2}, {3, 5});
  tiles.instruction.op0 = AluOp::kMultiply;
  tiles.instruction.constant0 = 0.5;
  tiles.instruction.engine = EngineKind::kGpSimd;
  expect_values(tiles.run(), {2, 2});  // 1.5 and 2.5 to nearest even
}

TEST(TensorScalar, BitwiseOperatorsChainOnIntegers) {
  Tiles tiles = tiles_of(Dtype::kInt32, {2, 2}, {0x12345678, -1, 255, 256});
  TensorScalar& instruction = tiles.instruction;
  instruction.op0 = AluOp::kRightShift;
  instruction.constant0 = 4;
  instruction.op1 = AluOp::kBitwiseAnd;
  instruction.operand1 = tiles.bench.tile(kSbuf, Dtype::kInt32, {2, 1}, "mask", {255, 15});
  expect_values(tiles.run(), {0x67, 255, 15, 0});
  instruction.reverse0 = true;
  instruction.op1 = AluOp::kNone;
  instruction.operand1 = View();
  expect_values(tiles.run(), {0, 0, 0, 0});
}

TEST(TensorScalar, EnginesFollowOperatorsAndFeatures) {
  auto error = [](EngineKind engine, AluOp op0, AluOp op1, bool scalar_tensor_ops = true) {
    Architecture architecture = test_architecture();
    architecture.features.scalar_tensor_ops = scalar_tensor_ops;
    Tiles tiles = tiles_of(kFp32, {2, 2}, {}, kSbuf, architecture);
    tiles.instruction.engine = engine;
    tiles.instruction.op0 = op0;
    tiles.instruction.op1 = op1;
    return tiles.error();
  };
  EXPECT_EQ(error(EngineKind::kScalar, AluOp::kMultiply, AluOp::kAdd), "");
  EXPECT_EQ(error(EngineKind::kScalar, AluOp::kMultiply, AluOp::kNone), "");
  EXPECT_EQ(error(EngineKind::kScalar, AluOp::kAdd, AluOp::kNone), "");
  EXPECT_EQ(error(EngineKind::kScalar, AluOp::kAdd, AluOp::kMultiply),
            "instruction 'tensor_scalar of (add, multiply)' cannot run on the Scalar engine; "
            "architecture trn2 has it on: Vector, GpSimd.");
  EXPECT_EQ(error(EngineKind::kScalar, AluOp::kMultiply, AluOp::kAdd, false),
            "instruction 'tensor_scalar of (multiply, add)' cannot run on the Scalar engine; "
            "architecture trn2 has it on: Vector, GpSimd.");
  EXPECT_EQ(error(EngineKind::kGpSimd, AluOp::kMaximum, AluOp::kNone),
            "instruction 'tensor_scalar of (maximum, none)' cannot run on the GpSimd engine; "
            "architecture trn2 has it on: Vector.");
  EXPECT_EQ(error(EngineKind::kAuto, AluOp::kAdd, AluOp::kPower), "");
  EXPECT_EQ(error(EngineKind::kVector, AluOp::kAdd, AluOp::kPower),
            "instruction 'tensor_scalar of (add, power)' cannot run on the Vector engine; "
            "architecture trn2 has it on: GpSimd.");
  EXPECT_EQ(error(EngineKind::kAuto, AluOp::kMaximum, AluOp::kPower),
            "instruction 'tensor_scalar of (maximum, power)' runs on no engine of architecture "
            "trn2: no engine has both operators.");
}

TEST(TensorScalar, OperatorsAndOperandsAreChecked) {
  Tiles none = tiles_of(kFp32, {2, 2});
  none.instruction.op0 = AluOp::kNone;
  EXPECT_EQ(none.error(), "operator op0 'none' of 'tensor_scalar' is not supported.");
  Tiles mixed = tiles_of(Dtype::kInt32, {2, 2});
  mixed.instruction.op1 = AluOp::kLeftShift;
  EXPECT_EQ(mixed.error(),
            "operators op0 'add' and op1 'left_shift' of 'tensor_scalar' must be both bitwise or "
            "both arithmetic.");
  Tiles floats = tiles_of(kFp32, {2, 2});
  floats.instruction.op0 = AluOp::kBitwiseOr;
  EXPECT_EQ(floats.error(),
            "dtype float32 of operand 'dst' of 'tensor_scalar' is not supported; expected "
            "integers of one size for the bitwise operator bitwise_or.");
  Tiles fraction = tiles_of(Dtype::kInt32, {2, 2});
  fraction.instruction.op0 = AluOp::kBitwiseOr;
  fraction.instruction.constant0 = 0.5;
  EXPECT_EQ(fraction.error(),
            "constant 0.5 of 'operand0' of 'tensor_scalar' must be a 32-bit integer for the "
            "bitwise operator bitwise_or.");
  Tiles wide = tiles_of(kFp32, {2, 2});
  wide.instruction.operand0 = wide.bench.tile(kSbuf, kFp32, {2, 2}, "w");
  EXPECT_EQ(wide.error(),
            "operand 'operand0[2, 2]' of 'tensor_scalar' must have one element per partition, but "
            "it has 2.");
  wide.instruction.operand0 = wide.bench.tile(kSbuf, kFp32, {3, 1}, "w");
  EXPECT_EQ(wide.error(),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (data[2, "
            "2], operand0[3, 1]) of 'tensor_scalar'");
  wide.instruction.operand0 = wide.bench.tile(kSbuf, kBf16, {2, 1}, "w");
  EXPECT_EQ(wide.error(),
            "dtype bfloat16 of operand 'operand0' of 'tensor_scalar' is not supported; expected "
            "float32 (int32 and uint32 on GpSimd with int32 or uint32 data and dst).");
  wide.instruction.operand0 = View();
  wide.instruction.operand1 = wide.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_EQ(wide.error(),
            "operand 'operand1' of 'tensor_scalar' is given, but its operator is not.");
}

TEST(TensorScalar, LimitsAreCheckedFromBothSides) {
  EXPECT_EQ(tiles_of(kFp32, {128, 4096}, {}, kPsum).error(), "");
  EXPECT_EQ(tiles_of(kFp32, {129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_scalar', operand 'data', architecture trn2)");
  EXPECT_EQ(tiles_of(kFp32, {1, 4097}, {}, kPsum).error(),
            "number of elements per partition 4097 in 'data[1, 4097]' of 'tensor_scalar' exceed "
            "architecture limitation of 4096 in psum. (instruction 'tensor_scalar', operand "
            "'data', architecture trn2)");
}

TEST(TensorScalar, DemandsTheRateClassOfItsOperands) {
  auto step = [](Tiles tiles) { return tiles.bench.demand(tiles.instruction).steps[0]; };
  Step fp32 = step(tiles_of(kFp32, {2, 7}));
  EXPECT_EQ(fp32.rate, RateClass::kScalarOperand);
  EXPECT_EQ(fp32.elements, 7);
  EXPECT_FALSE(fp32.pointer_operand);
  EXPECT_EQ(step(tiles_of(kFp32, {2, 7}, {}, kPsum)).rate, RateClass::kOneInput);
  EXPECT_TRUE(step(tiles_of(kFp32, {2, 7}, {}, kPsum)).source_psum);
  EXPECT_EQ(step(tiles_of(kBf16, {2, 7})).rate, RateClass::kCopy16bit);
  EXPECT_EQ(step(tiles_of(kBf16, {2, 7}, {}, kPsum)).rate, RateClass::kCopy16bitMixed);
  EXPECT_EQ(step(tiles_of(Dtype::kInt32, {2, 7})).rate, RateClass::kScalarOperand);
  for (const Dtype to : {kFp32, Dtype::kInt32}) {  // fast 16-bit modes need both sides
    Tiles mixed = tiles_of(kBf16, {2, 7});
    mixed.instruction.dst = mixed.bench.tile(kSbuf, to, {2, 7}, "wide");
    EXPECT_EQ(step(mixed).rate, RateClass::kScalarOperand) << name(to);
    mixed.instruction.dst = mixed.bench.tile(kPsum, to, {2, 7}, "bank");
    EXPECT_EQ(step(mixed).rate, RateClass::kOneInput) << name(to);
  }
  Tiles pointer = tiles_of(kFp32, {2, 7});
  pointer.instruction.operand0 = pointer.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_TRUE(step(pointer).pointer_operand);
  Tiles gpsimd = tiles_of(kFp32, {2, 7});
  gpsimd.instruction.op0 = AluOp::kPower;
  EXPECT_EQ(step(gpsimd).rate, RateClass::kGpSimdOneInput);
}

}  // namespace
}  // namespace neuron_sim
