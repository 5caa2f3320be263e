#include "device/isa/reduction/tensor_scalar_cumulative.h"

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/vector_operators.h"

namespace neuron_sim {
namespace {

constexpr AluOp kRunning[] = {AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply, AluOp::kMaximum,
                              AluOp::kMinimum};

struct Cumulative : InstructionTiles<TensorScalarCumulative> {
  explicit Cumulative(std::vector<int64_t> shape, Dtype dtype = kFp32, MemoryKind src = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.src = bench.tile(src, dtype, shape, "src");
  }
};

double identity(AluOp op) {
  if (op == AluOp::kMultiply) return 1;
  if (op == AluOp::kMaximum) return -INFINITY;
  return op == AluOp::kMinimum ? INFINITY : 0;
}

/// The running reduction in float64, rounded to fp32 after every operator.
std::vector<double> oracle_running(const TensorScalarCumulative& instruction,
                                   const std::vector<double>& src, double imm0,
                                   const std::vector<double>& start) {
  const size_t row = src.size() / start.size();
  std::vector<double> result;
  for (size_t i = 0; i < src.size(); ++i) {
    const double before = i % row == 0 ? start[i / row] : result.back();
    result.push_back(
        oracle_apply(instruction.op1, oracle_apply(instruction.op0, src[i], imm0), before));
  }
  return result;
}

TEST(TensorScalarCumulative, RunsEveryPairOfOperatorsUnderEveryCommand) {
  for (const AluOp op0 : arithmetic_operators()) {
    if (op0 == AluOp::kDivide) continue;
    for (const AluOp op1 : kRunning) {
      SCOPED_TRACE(text(name(op0), " ", name(op1)));
      Cumulative running({2, 19});
      running.instruction.op0 = op0;
      running.instruction.op1 = op1;
      running.instruction.constant0 = 0.75;
      running.bench.set(running.instruction.src, random_values(38, -2, 2, 5));
      const std::vector<double> src = running.bench.get(running.instruction.src);
      const auto expect = [&](const std::vector<double>& start) {
        std::vector<double> expected = oracle_running(running.instruction, src, 0.75, start);
        std::vector<double> actual = running.run();
        for (double& value : expected) value += 0.0;  // the sign of zero is tested elsewhere
        for (double& value : actual) value += 0.0;
        expect_values(actual, expected);
        expect_values({running.registers(2)[0] + 0.0, running.registers(2)[1] + 0.0},
                      {expected[18], expected[37]});
      };
      expect({identity(op1), identity(op1)});
      running.instruction.reduce_command = ReduceCommand::kReduce;
      expect(running.registers(2));
      running.instruction.reduce_command = ReduceCommand::kLoadReduce;
      running.instruction.constant1 = -0.5;
      expect({-0.5, -0.5});
      running.instruction.imm1 = running.bench.tile(kPsum, kFp32, {2, 1}, "start", {3, -1.25});
      expect({3, -1.25});
    }
  }
}

TEST(TensorScalarCumulative, GoesOverItsDtypesAndPatternsWithAValuePerPartition) {
  for (const Dtype dtype : all_dtypes()) {
    const bool refused = dtype == Dtype::kBool || dtype == Dtype::kTfloat32 ||
                         dtype == Dtype::kInt32 || dtype == Dtype::kUint32;
    for (const Pattern source : source_patterns()) {
      for (const Pattern target : target_patterns()) {
        SCOPED_TRACE(std::string(name(dtype)));
        InstructionBench bench;
        TensorScalarCumulative instruction{
            .dst = pattern_view(bench, target, dtype, "dst"),
            .src = pattern_view(bench, source, dtype, "src"),
            .imm0 = bench.tile(kSbuf, kFp32, {3, 1}, "imm0", {2, 0.5, 1.5}),
            .op0 = AluOp::kMultiply};
        if (refused) {
          EXPECT_EQ(bench.error(instruction),
                    text("dtype ", name(dtype),
                         " of operand 'dst' of 'tensor_scalar_cumulative' is not supported; "
                         "expected float32, bfloat16, float16, float8 or an integer of 8 or 16 "
                         "bits."));
          continue;
        }
        const std::vector<double> src = fill_random(bench, instruction.src, 3, 0, 9);
        const double imm0[] = {2, 0.5, 1.5};
        std::vector<double> expected;
        double running = 0;
        for (size_t i = 0; i < src.size(); ++i) {
          const size_t p = i / kPatternElements;
          if (i % kPatternElements == 0) running = 0;
          running = round_to(kFp32, running + round_to(kFp32, src[i] * imm0[p]));
          expected.push_back(stored(dtype, running));
        }
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), expected);
      }
    }
  }
}

TEST(TensorScalarCumulative, WorksInPlaceAndKeepsNanInItsPartition) {
  Cumulative running({2, 3});
  running.instruction.dst = running.instruction.src;
  running.instruction.op1 = AluOp::kMaximum;
  running.bench.set(running.instruction.src, {-INFINITY, NAN, 5, 1, INFINITY, 0});
  expect_values(running.run(), {-INFINITY, NAN, NAN, 1, INFINITY, INFINITY});
  Cumulative zeros({1, 2});
  zeros.instruction.op0 = AluOp::kMultiply;
  zeros.instruction.constant0 = 1;
  zeros.bench.set(zeros.instruction.src, {-0.0, -0.0});
  expect_values(zeros.run(), {0.0, 0.0});  // the registers start from +0
}

TEST(TensorScalarCumulative, RefusesOperatorsCommandsAndOperandsItDoesNotHave) {
  Cumulative running({2, 4});
  TensorScalarCumulative& instruction = running.instruction;
  EXPECT_EQ(running.error(), "");
  instruction.op1 = AluOp::kAbsMax;
  EXPECT_EQ(running.error(),
            "operator op1 'abs_max' of 'tensor_scalar_cumulative' is not supported; expected add, "
            "subtract, multiply, maximum or minimum.");
  instruction.op1 = AluOp::kAdd;
  instruction.op0 = AluOp::kPower;
  EXPECT_EQ(running.error(),
            "operator op0 'power' of 'tensor_scalar_cumulative' is not supported; expected an "
            "arithmetic operator of the Vector engine.");
  instruction.op0 = AluOp::kAdd;
  instruction.reduce_command = ReduceCommand::kIdle;
  EXPECT_EQ(running.error(),
            "reduce_cmd 'idle' of 'tensor_scalar_cumulative' is not supported; expected one of: "
            "reset_reduce, reduce, load_reduce.");
  instruction.reduce_command = ReduceCommand::kResetReduce;
  instruction.constant1 = 1;
  EXPECT_EQ(running.error(),
            "operand 'imm1' of 'tensor_scalar_cumulative' is given, but reduce_cmd is "
            "'reset_reduce'; only 'load_reduce' loads it.");
  instruction.constant1 = 0;
  instruction.imm0 = running.bench.tile(kSbuf, kBf16, {2, 1}, "w");
  EXPECT_EQ(running.error(),
            "dtype bfloat16 of operand 'imm0' of 'tensor_scalar_cumulative' is not supported; "
            "expected float32.");
  instruction.imm0 = View();
  instruction.src = running.bench.tile(kSbuf, Dtype::kInt32, {2, 4}, "s");
  EXPECT_EQ(running.error(),
            "dtype int32 of operand 'src' of 'tensor_scalar_cumulative' is not supported; expected "
            "float32, bfloat16, float16, float8 or an integer of 8 or 16 bits.");
  EXPECT_EQ(Cumulative({128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(Cumulative({1, 4097}, kFp32, kPsum).error(),
            "number of elements per partition 4097 in 'src[1, 4097]' of "
            "'tensor_scalar_cumulative' exceed architecture limitation of 4096 in psum. "
            "(instruction 'tensor_scalar_cumulative', operand 'src', architecture trn2)");
}

TEST(TensorScalarCumulative, DemandsWhatAScanDoes) {
  Cumulative running({2, 7}, kFp32, kPsum);
  EXPECT_EQ(running.step().rate, RateClass::kScan);
  EXPECT_EQ(running.step().elements, 7);
  EXPECT_TRUE(running.step().source_psum);
  EXPECT_FALSE(running.step().reads_accumulator || running.step().pointer_operand);
  running.instruction.imm0 = running.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_TRUE(running.step().pointer_operand);
}

}  // namespace
}  // namespace neuron_sim
