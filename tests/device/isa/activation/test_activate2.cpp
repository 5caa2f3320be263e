#include "device/isa/activation/activate2.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

Architecture trn3() { return load_architecture("trn3"); }

double operate(AluOp op, double a, double b, bool reverse) {
  if (op == AluOp::kNone) return a;
  if (reverse) std::swap(a, b);
  const double result = op == AluOp::kMultiply ? a * b : op == AluOp::kAdd ? a + b : a - b;
  return round_to(kFp32, result);
}

struct Operators {
  AluOp op0, op1;
};
const std::vector<Operators>& operator_pairs() {
  static const std::vector<Operators> pairs = {
      {AluOp::kMultiply, AluOp::kAdd},  {AluOp::kMultiply, AluOp::kSubtract},
      {AluOp::kMultiply, AluOp::kNone}, {AluOp::kAdd, AluOp::kNone},
      {AluOp::kSubtract, AluOp::kNone}, {AluOp::kNone, AluOp::kNone}};
  return pairs;
}

TEST(Activate2, ComputesEveryPairOfOperatorsInBothDirections) {
  for (const Operators& operators : operator_pairs()) {
    for (int directions = 0; directions < 4; ++directions) {
      const bool reverse0 = (directions & 1) != 0, reverse1 = (directions & 2) != 0;
      if ((reverse0 && operators.op0 == AluOp::kNone) ||
          (reverse1 && operators.op1 == AluOp::kNone)) {
        continue;
      }
      InstructionBench bench(trn3());
      const View data = bench.tile(kPsum, kFp32, {3, 19}, "data", random_values(57));
      const Activate2 instruction{.dst = bench.tile(kSbuf, kFp32, {3, 19}, "dst"),
                                  .op = Activation::kSquare,
                                  .data = data,
                                  .imm0 = operators.op0 == AluOp::kNone ? 0 : 0.7,
                                  .imm1 = operators.op1 == AluOp::kNone ? 0 : -1.3,
                                  .op0 = operators.op0,
                                  .op1 = operators.op1,
                                  .reverse0 = reverse0,
                                  .reverse1 = reverse1};
      bench.run(instruction);
      std::vector<double> expected;
      for (const double x : bench.get(data)) {
        const double first = operate(operators.op0, x, round_to(kFp32, 0.7), reverse0);
        const double second = operate(operators.op1, first, round_to(kFp32, -1.3), reverse1);
        expected.push_back(round_to(kFp32, second * second));
      }
      SCOPED_TRACE(text(name(operators.op0), " ", name(operators.op1), " ", directions));
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(Activate2, TakesImmediatesPerPartitionOfAnyDtypeOverAccessPatterns) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern pattern : source_patterns()) {
      InstructionBench bench(trn3());
      const View data = pattern_view(bench, pattern, Dtype::kFloat16, "data");
      const std::vector<double> x = fill_random(bench, data, 4);
      const View dst = pattern_view(bench, Pattern::kPermuted, kBf16, "dst", kPsum);
      const View factors = bench.tile(kSbuf, dtype, {3, 1}, "factors", {1, 0, 1});
      const View addends = bench.tile(kSbuf, dtype, {3, 1}, "addends", {0, 1, 1});
      bench.run(Activate2{.dst = dst,
                          .op = Activation::kRelu,
                          .data = data,
                          .imm0_tile = factors,
                          .imm1_tile = addends,
                          .op0 = AluOp::kMultiply,
                          .op1 = AluOp::kAdd});
      const std::vector<double> f = bench.get(factors), a = bench.get(addends);
      std::vector<double> expected;
      for (size_t i = 0; i < x.size(); ++i) {
        const double value = round_to(kFp32, x[i] * f[i / 24] + a[i / 24]);
        expected.push_back(round_to(kBf16, value > 0 ? value : 0));
      }
      expect_values(bench.get(dst), expected);
    }
  }
}

TEST(Activate2, PreluTakesItsSlope) {
  InstructionBench bench(trn3());
  const View data = bench.tile(kSbuf, kFp32, {1, 5}, "data", {-2, -0.5, 0, 3, NAN});
  bench.run(Activate2{.dst = data, .op = Activation::kPrelu, .data = data, .relu_param = 0.125});
  expect_values(bench.get(data), {-0.25, -0.0625, 0, 3, NAN});
}

struct Reduction {
  AluOp op;
  double reset, row, with_held;  // of {-3, 2, 0.5} on top of -2.5
};

TEST(Activate2, ReducesWithFiveOperatorsAndFourCommands) {
  for (const Reduction& reduction : {Reduction{AluOp::kAdd, 0, -0.5, -3},
                                     {AluOp::kMaximum, -INFINITY, 2, 2},
                                     {AluOp::kMinimum, INFINITY, -3, -3},
                                     {AluOp::kAbsMax, 0, 3, 3},
                                     {AluOp::kAbsMin, INFINITY, 0.5, 0.5}}) {
    SCOPED_TRACE(name(reduction.op));
    InstructionBench bench(trn3());
    const View registers = engine_state(EngineState::kScalarAccumulator, 1);
    const View data = bench.tile(kSbuf, kFp32, {1, 3}, "data", {-3, 2, 0.5});
    Activate2 instruction{.dst = bench.tile(kSbuf, Dtype::kInt8, {1, 3}, "dst"),
                          .data = data,
                          .reduce_op = reduction.op,
                          .reduce_res = bench.tile(kSbuf, kFp32, {1, 1}, "result")};
    const auto result_of = [&](ReduceCommand command) {
      bench.set(registers, {-2.5});
      instruction.reduce_command = command;
      bench.run(instruction);
      EXPECT_EQ(bench.get(registers), bench.get(instruction.reduce_res));
      return bench.get(instruction.reduce_res)[0];
    };
    EXPECT_EQ(result_of(ReduceCommand::kIdle), -2.5);
    EXPECT_EQ(result_of(ReduceCommand::kReset), reduction.reset);
    EXPECT_EQ(result_of(ReduceCommand::kReduce), reduction.with_held);
    EXPECT_EQ(result_of(ReduceCommand::kResetReduce), reduction.row);
    instruction.reduce_res = {};
    bench.set(registers, {7});
    bench.run(instruction);
    EXPECT_EQ(bench.get(registers)[0], reduction.row);
  }
}

TEST(Activate2, ANanReachesEveryReduction) {
  for (const AluOp op :
       {AluOp::kAdd, AluOp::kMaximum, AluOp::kMinimum, AluOp::kAbsMax, AluOp::kAbsMin}) {
    InstructionBench bench(trn3());
    std::vector<double> values(40, 1);
    values[17] = NAN;
    const View data = bench.tile(kSbuf, kFp32, {1, 40}, "data", values);
    const Activate2 instruction{.dst = data,
                                .data = data,
                                .reduce_op = op,
                                .reduce_res = bench.tile(kSbuf, kFp32, {1, 1}, "result"),
                                .reduce_command = ReduceCommand::kResetReduce};
    bench.run(instruction);
    expect_values(bench.get(instruction.reduce_res), {NAN});
  }
}

}  // namespace
}  // namespace neuron_sim
