#include "device/isa/elementwise/scalar_tensor_tensor.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/vector_operators.h"

namespace neuron_sim {
namespace {

/// Dense tiles of one dtype.
struct Fused : InstructionTiles<ScalarTensorTensor> {
  explicit Fused(std::vector<int64_t> shape, Dtype dtype = kFp32, MemoryKind data = kSbuf,
                 MemoryKind operand1 = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.data = bench.tile(data, dtype, shape, "data");
    instruction.operand1 = bench.tile(operand1, dtype, shape, "other");
  }
};

TEST(ScalarTensorTensor, ComputesEveryPairOfOperatorsInBothOrders) {
  Fused fused({2, 33});
  fused.bench.set(fused.instruction.data, grid_values(66, 1));
  fused.bench.set(fused.instruction.operand1, grid_values(66, 2));
  fused.instruction.constant0 = 1.25;
  const std::vector<double> data = fused.bench.get(fused.instruction.data);
  const std::vector<double> other = fused.bench.get(fused.instruction.operand1);
  for (const AluOp op0 : arithmetic_operators()) {
    for (const AluOp op1 : arithmetic_operators()) {
      if (op0 == AluOp::kDivide || op1 == AluOp::kDivide) continue;
      for (const int reverse : {0, 1, 2, 3}) {
        SCOPED_TRACE(text(name(op0), " ", name(op1), " ", reverse));
        fused.instruction.op0 = op0;
        fused.instruction.op1 = op1;
        fused.instruction.reverse0 = (reverse & 1) != 0;
        fused.instruction.reverse1 = (reverse & 2) != 0;
        std::vector<double> expected;
        for (size_t i = 0; i < data.size(); ++i) {
          const double first = oracle_apply(op0, data[i], 1.25, fused.instruction.reverse0);
          expected.push_back(oracle_apply(op1, first, other[i], fused.instruction.reverse1) + 0.0);
        }
        std::vector<double> actual = fused.run();
        for (double& value : actual) value += 0.0;  // the sign of zero is tested elsewhere
        expect_values(actual, expected);
      }
    }
  }
}

TEST(ScalarTensorTensor, GoesOverAllDtypesAndPatternsAndRoundsAfterEachOperator) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern source : source_patterns()) {
      for (const Pattern target : target_patterns()) {
        SCOPED_TRACE(std::string(name(dtype)));
        InstructionBench bench;
        ScalarTensorTensor instruction{
            .dst = pattern_view(bench, target, dtype, "dst"),
            .data = pattern_view(bench, source, dtype, "data"),
            .operand0 = bench.tile(kSbuf, kFp32, {3, 1}, "scale", {2, 1.3, 0.25}),
            .operand1 = pattern_view(bench, source, kBf16, "other"),
            .op0 = AluOp::kMultiply,
            .op1 = AluOp::kAdd};
        const std::vector<double> data = fill_random(bench, instruction.data, 3, 0, 30);
        const std::vector<double> other = fill_random(bench, instruction.operand1, 4, 0, 9);
        const double scale[] = {2, round_to(kFp32, 1.3), 0.25};
        std::vector<double> expected;
        for (size_t i = 0; i < data.size(); ++i) {
          const double product = round_to(kFp32, data[i] * scale[i / kPatternElements]);
          expected.push_back(stored(dtype, product + other[i]));
        }
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), expected);
      }
    }
  }
}

TEST(ScalarTensorTensor, TheDestinationMayBeEitherInputAndHoldTheOperand) {
  for (const bool second : {false, true}) {
    Fused fused({1, 3});
    fused.bench.set(fused.instruction.data, {1, 2, 3});
    fused.bench.set(fused.instruction.operand1, {10, 20, 30});
    fused.instruction.dst = second ? fused.instruction.operand1 : fused.instruction.data;
    fused.instruction.operand0 = fused.instruction.dst.slice(1, 1, 1);
    fused.instruction.op0 = AluOp::kMultiply;
    fused.instruction.op1 = AluOp::kSubtract;
    if (second) {
      expect_values(fused.run(), {10, 20, 30});  // x 20 - (10, 20, 30)
    } else {
      expect_values(fused.run(), {-8, -16, -24});  // x 2 - (10, 20, 30)
    }
  }
}

TEST(ScalarTensorTensor, WidensAScalarOperandOfAnyFloatingDtype) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kFloat16}) {
    SCOPED_TRACE(std::string(name(dtype)));
    Fused fused({2, 2});
    fused.bench.set(fused.instruction.data, {1, 2, 3, 4});
    fused.bench.set(fused.instruction.operand1, {10, 20, 30, 40});
    fused.instruction.operand0 = fused.bench.tile(kSbuf, dtype, {2, 1}, "scale", {0.5, -1.5});
    fused.instruction.op0 = AluOp::kMultiply;
    fused.instruction.op1 = AluOp::kAdd;
    expect_values(fused.run(), {10.5, 21, 25.5, 34});
  }
}

TEST(ScalarTensorTensor, TakesAUnaryFirstOperatorAndPassesNanAndInfinity) {
  Fused fused({1, 4});
  fused.bench.set(fused.instruction.data, {-INFINITY, NAN, -2, -0.0});
  fused.bench.set(fused.instruction.operand1, {1, 1, NAN, -0.0});
  fused.instruction.op0 = AluOp::kAbs;
  fused.instruction.op1 = AluOp::kMultiply;
  expect_values(fused.run(), {INFINITY, NAN, NAN, -0.0});
}

TEST(ScalarTensorTensor, RefusesOperatorsTheVectorEngineDoesNotHave) {
  const auto error = [](AluOp op0, AluOp op1) {
    Fused fused({2, 2}, Dtype::kInt32);
    fused.instruction.op0 = op0;
    fused.instruction.op1 = op1;
    return fused.error();
  };
  EXPECT_EQ(error(AluOp::kAbs, AluOp::kAdd), "");
  EXPECT_EQ(error(AluOp::kPower, AluOp::kAdd),
            "operator op0 'power' of 'scalar_tensor_tensor' is not supported; expected an "
            "arithmetic operator of the Vector engine.");
  EXPECT_EQ(error(AluOp::kRsqrt, AluOp::kAdd),
            "operator op0 'rsqrt' of 'scalar_tensor_tensor' is not supported; expected an "
            "arithmetic operator of the Vector engine.");
  EXPECT_EQ(error(AluOp::kBitwiseAnd, AluOp::kAdd),
            "operator op0 'bitwise_and' of 'scalar_tensor_tensor' is not supported; expected an "
            "arithmetic operator of the Vector engine.");
  EXPECT_EQ(error(AluOp::kAdd, AluOp::kNone),
            "operator op1 'none' of 'scalar_tensor_tensor' is not supported; expected an "
            "arithmetic operator of the Vector engine on two operands.");
  EXPECT_EQ(error(AluOp::kAdd, AluOp::kAbs),
            "operator op1 'abs' of 'scalar_tensor_tensor' is not supported; expected an "
            "arithmetic operator of the Vector engine on two operands.");
}

TEST(ScalarTensorTensor, ChecksItsOperands) {
  EXPECT_EQ(Fused({128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(Fused({2, 2}, kFp32, kPsum, kPsum).error(),
            "operands 'data' and 'operand1' of 'scalar_tensor_tensor' are both in PSUM; at most "
            "one input may be (architecture trn2).");
  EXPECT_EQ(Fused({129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'scalar_tensor_tensor', operand 'data', architecture trn2)");
  EXPECT_EQ(Fused({1, 4097}, kFp32, kPsum).error(),
            "number of elements per partition 4097 in 'data[1, 4097]' of 'scalar_tensor_tensor' "
            "exceed architecture limitation of 4096 in psum. (instruction 'scalar_tensor_tensor', "
            "operand 'data', architecture trn2)");
  Fused fused({2, 4});
  fused.instruction.operand1 = fused.bench.tile(kSbuf, kFp32, {2, 5}, "o");
  EXPECT_EQ(fused.error(),
            "number of elements per partition mismatch in parameters (dst[2, 4], operand1[2, 5]) "
            "of 'scalar_tensor_tensor'");
  fused.instruction.operand1 = View();
  EXPECT_EQ(fused.error(),
            "Expected operand 'operand1' of 'scalar_tensor_tensor' to be in address space "
            "'psum|sbuf', but it is missing.");
  fused.instruction.operand1 = fused.instruction.data;
  fused.instruction.operand0 = fused.bench.tile(kSbuf, Dtype::kInt32, {2, 1}, "w");
  EXPECT_EQ(fused.error(),
            "dtype int32 of operand 'operand0' of 'scalar_tensor_tensor' is not supported; "
            "expected a floating dtype.");
  fused.instruction.op0 = AluOp::kAbs;
  EXPECT_EQ(fused.error(),
            "operand 'operand0' of 'scalar_tensor_tensor' must be None or 0 for the unary "
            "operator abs.");
  fused.instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(fused.error(),
            "instruction 'scalar_tensor_tensor' cannot run on the GpSimd engine; architecture "
            "trn2 has it on: Vector.");
}

TEST(ScalarTensorTensor, DemandsTheFastRateForTheDocumentedFormOnly) {
  const auto rate = [](Dtype dtype, int64_t elements, AluOp op0, AluOp op1) {
    Fused fused({2, elements}, dtype);
    fused.instruction.op0 = op0;
    fused.instruction.op1 = op1;
    return fused.step().rate;
  };
  EXPECT_EQ(rate(kBf16, 8, AluOp::kSubtract, AluOp::kMultiply), RateClass::kTwoInputsBf16);
  EXPECT_EQ(rate(kBf16, 9, AluOp::kSubtract, AluOp::kMultiply), RateClass::kTwoInputs);
  EXPECT_EQ(rate(kFp32, 8, AluOp::kSubtract, AluOp::kMultiply), RateClass::kTwoInputs);
  EXPECT_EQ(rate(kBf16, 8, AluOp::kMultiply, AluOp::kMultiply), RateClass::kTwoInputs);
  EXPECT_EQ(rate(kBf16, 8, AluOp::kSubtract, AluOp::kAdd), RateClass::kTwoInputs);
  Fused psum({2, 7}, kFp32, kSbuf, kPsum);
  EXPECT_EQ(psum.step().rate, RateClass::kTwoInputs);
  EXPECT_EQ(psum.step().elements, 7);
  EXPECT_TRUE(psum.step().source_psum);
  EXPECT_FALSE(psum.step().pointer_operand);
  psum.instruction.operand0 = psum.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_TRUE(psum.step().pointer_operand);
}

}  // namespace
}  // namespace neuron_sim
