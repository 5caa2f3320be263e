#include "device/isa/reduction/tensor_scalar_reduce.h"

#include "device/instruction/vector_accumulator.h"
#include "tests/device/isa/patterns.h"
#include "tests/device/isa/vector_operators.h"

namespace neuron_sim {
namespace {

constexpr AluOp kReductions[] = {AluOp::kAdd, AluOp::kMultiply, AluOp::kMaximum, AluOp::kMinimum};

struct Reduced : InstructionTiles<TensorScalarReduce> {
  explicit Reduced(std::vector<int64_t> shape, Dtype dtype = kFp32, MemoryKind data = kSbuf) {
    instruction.dst = bench.tile(kSbuf, dtype, shape, "dst");
    instruction.data = bench.tile(data, dtype, shape, "data");
    instruction.reduce_res = bench.tile(kSbuf, kFp32, {shape[0], 1}, "sum");
  }
  std::vector<double> run() {
    bench.run(instruction);
    return bench.get(instruction.reduce_res);
  }
};

/// Reduces each of `rows` equal rows in float64.
std::vector<double> oracle_reduce(AluOp op, const std::vector<double>& values, size_t rows) {
  const size_t row = values.size() / rows;
  std::vector<double> result;
  for (size_t r = 0; r < rows; ++r) {
    double reduced = values[r * row];
    for (size_t i = 1; i < row; ++i) {
      const double x = values[r * row + i];
      if (op == AluOp::kAdd) reduced += x;
      if (op == AluOp::kMultiply) reduced *= x;
      if (op == AluOp::kMaximum) reduced = std::max(reduced, x);
      if (op == AluOp::kMinimum) reduced = std::min(reduced, x);
    }
    result.push_back(reduced);
  }
  return result;
}

TEST(TensorScalarReduce, WritesTheElementsAndTheirReductionForAllDtypesAndPatterns) {
  for (const AluOp reduce_op : {AluOp::kAdd, AluOp::kMaximum, AluOp::kMinimum}) {
    for (const Dtype dtype : all_dtypes()) {
      for (const Pattern source : source_patterns()) {
        for (const Pattern target : target_patterns()) {
          SCOPED_TRACE(text(name(reduce_op), " ", name(dtype)));
          InstructionBench bench;
          TensorScalarReduce instruction{.dst = pattern_view(bench, target, dtype, "dst"),
                                         .data = pattern_view(bench, source, dtype, "data"),
                                         .operand0 =
                                             bench.tile(kPsum, kFp32, {3, 1}, "w", {0.25, -2, 3}),
                                         .reduce_res = bench.tile(kSbuf, kFp32, {3, 1}, "sum"),
                                         .op0 = AluOp::kMultiply,
                                         .reduce_op = reduce_op};
          std::vector<double> grid = grid_values(kPatternValues, 2);
          for (double& value : grid) value = std::abs(value);  // unsigned dtypes too
          bench.set(instruction.data, grid);
          const std::vector<double> data = bench.get(instruction.data);
          const double w[] = {0.25, -2, 3};
          std::vector<double> exact, expected;
          for (size_t i = 0; i < data.size(); ++i) {
            exact.push_back(data[i] * w[i / kPatternElements]);
            expected.push_back(stored(dtype, exact.back()));
          }
          bench.run(instruction);
          std::vector<double> actual = bench.get(instruction.dst);
          for (double& value : actual) value += 0.0;
          for (double& value : expected) value += 0.0;
          expect_values(actual, expected);
          std::vector<double> sums = bench.get(instruction.reduce_res);
          for (double& value : sums) value += 0.0;
          std::vector<double> expected_sums = oracle_reduce(reduce_op, exact, 3);
          for (double& value : expected_sums) value += 0.0;
          expect_values(sums, expected_sums);  // of the results before they were rounded to dst
        }
      }
    }
  }
}

TEST(TensorScalarReduce, EveryOperatorReducesSizesAroundTheSixteenPartialResults) {
  for (const AluOp op : kReductions) {
    for (const int64_t size : {1, 2, 15, 16, 17, 31, 33, 100}) {
      SCOPED_TRACE(text(name(op), " ", size));
      Reduced reduced({2, size});
      reduced.bench.set(reduced.instruction.data, random_values(2 * size, 0.8, 1.25, 7));
      reduced.instruction.op0 = AluOp::kMultiply;
      reduced.instruction.constant0 = 1;
      reduced.instruction.reduce_op = op;
      const std::vector<double> exact =
          oracle_reduce(op, reduced.bench.get(reduced.instruction.data), 2);
      const std::vector<double> actual = reduced.run();
      for (size_t p = 0; p < 2; ++p) EXPECT_NEAR(actual[p], exact[p], 2e-6 * exact[p]);
    }
  }
}

TEST(TensorScalarReduce, CommandsResetContinueAndLoadTheRegisters) {
  for (const AluOp op : kReductions) {
    SCOPED_TRACE(std::string(name(op)));
    Reduced reduced({2, 3});
    reduced.instruction.constant0 = 0;
    reduced.instruction.reduce_op = op;
    const auto with = [&](ReduceCommand command, const std::vector<double>& values) {
      reduced.instruction.reduce_command = command;
      reduced.bench.set(reduced.instruction.data, values);
      return reduced.run();
    };
    const std::vector<double> first = {1, 2, 3, -1, -2, -4}, second = {2, 1, 4, -8, 1, 2};
    const std::vector<double> start = oracle_reduce(op, first, 2);
    expect_values(with(ReduceCommand::kResetReduce, first), start);
    const std::vector<double> next = oracle_reduce(op, second, 2);
    std::vector<double> both;
    for (size_t p = 0; p < 2; ++p) both.push_back(oracle_apply(op, start[p], next[p]));
    expect_values(with(ReduceCommand::kReduce, second), both);
    expect_values(reduced.registers(2), both);
    reduced.instruction.reduce_init = reduced.bench.tile(kSbuf, kFp32, {2, 1}, "init", {2.5, -3});
    std::vector<double> loaded = {oracle_apply(op, 2.5, next[0]), oracle_apply(op, -3, next[1])};
    expect_values(with(ReduceCommand::kLoadReduce, second), loaded);
    reduced.instruction.reduce_init = View();
    reduced.instruction.constant_init = 1.5;
    loaded = {oracle_apply(op, 1.5, next[0]), oracle_apply(op, 1.5, next[1])};
    expect_values(with(ReduceCommand::kLoadReduce, second), loaded);
    expect_values(reduced.registers(2), loaded);
  }
}

TEST(TensorScalarReduce, SubtractGoesOnFromElementToElementAndTileToTile) {
  Reduced reduced({1, 3});
  reduced.bench.set(reduced.instruction.data, {10, 2, 3});
  reduced.instruction.reduce_op = AluOp::kSubtract;
  expect_values(reduced.run(), {5});
  reduced.instruction.reduce_command = ReduceCommand::kReduce;
  expect_values(reduced.run(), {-10});
  reduced.instruction.reduce_command = ReduceCommand::kLoadReduce;
  reduced.instruction.constant_init = 100;
  expect_values(reduced.run(), {85});
}

TEST(TensorScalarReduce, NegatesTheResultButNotTheRegister) {
  Reduced reduced({1, 3});
  reduced.bench.set(reduced.instruction.data, {1, 2, 4});
  reduced.instruction.reduce_res_negate = true;
  expect_values(reduced.run(), {-7});
  expect_values(reduced.registers(1), {7});
  reduced.instruction.reduce_command = ReduceCommand::kReduce;
  expect_values(reduced.run(), {-14});
}

TEST(TensorScalarReduce, ReducesWithoutAResultAndRoundsTheResultOnce) {
  Reduced reduced({1, 2});
  reduced.bench.set(reduced.instruction.data, {1, 0x1p-12});
  const View half = reduced.bench.tile(kPsum, kBf16, {1, 1}, "half");
  reduced.instruction.reduce_res = View();
  reduced.bench.run(reduced.instruction);
  expect_values(reduced.registers(1), {1 + 0x1p-12});
  reduced.instruction.reduce_res = half;
  reduced.bench.run(reduced.instruction);
  expect_values(reduced.bench.get(half), {1});
}

TEST(TensorScalarReduce, NanReachesTheReductionAndReverseSwapsTheOperands) {
  Reduced reduced({1, 3});
  reduced.instruction.op0 = AluOp::kSubtract;
  reduced.instruction.constant0 = 1;
  reduced.instruction.reverse0 = true;
  reduced.bench.set(reduced.instruction.data, {1, 2, INFINITY});
  expect_values(reduced.run(), {-INFINITY});
  expect_values(reduced.bench.get(reduced.instruction.dst), {0, -1, -INFINITY});
  reduced.instruction.reduce_op = AluOp::kMaximum;
  reduced.bench.set(reduced.instruction.data, {1, NAN, 3});
  expect_values(reduced.run(), {NAN});
}

TEST(TensorScalarReduce, RefusesOperatorsCommandsAndOperandsItDoesNotHave) {
  Reduced reduced({2, 4});
  TensorScalarReduce& instruction = reduced.instruction;
  EXPECT_EQ(reduced.error(), "");
  instruction.reduce_op = AluOp::kLogicalAnd;
  EXPECT_EQ(reduced.error(),
            "reduce_op 'logical_and' of 'tensor_scalar_reduce' is not supported; expected one of: "
            "add, subtract, multiply, maximum, minimum.");
  instruction.reduce_op = AluOp::kAdd;
  for (const ReduceCommand command : {ReduceCommand::kIdle, ReduceCommand::kReset}) {
    instruction.reduce_command = command;
    EXPECT_EQ(reduced.error(), text("reduce_cmd '", name(command),
                                    "' of 'tensor_scalar_reduce' is not supported; expected one "
                                    "of: reset_reduce, reduce, load_reduce."));
  }
  instruction.reduce_command = ReduceCommand::kReduce;
  instruction.constant_init = 1;
  EXPECT_EQ(reduced.error(),
            "operand 'reduce_init' of 'tensor_scalar_reduce' is given, but reduce_cmd is "
            "'reduce'; only 'load_reduce' loads it.");
  instruction.reduce_command = ReduceCommand::kLoadReduce;
  instruction.reduce_init = reduced.bench.tile(kSbuf, Dtype::kFloat16, {2, 1}, "i");
  EXPECT_EQ(reduced.error(),
            "dtype float16 of operand 'reduce_init' of 'tensor_scalar_reduce' is not supported; "
            "expected float32.");
  instruction.reduce_init = View();
  instruction.reduce_res = reduced.bench.tile(kSbuf, kFp32, {2, 2}, "r");
  EXPECT_EQ(reduced.error(),
            "operand 'reduce_res[2, 2]' of 'tensor_scalar_reduce' must have one element per "
            "partition, but it has 2.");
  instruction.reduce_res = View();
  instruction.op0 = AluOp::kBitwiseOr;
  EXPECT_EQ(reduced.error(),
            "operator op0 'bitwise_or' of 'tensor_scalar_reduce' is not supported; expected an "
            "arithmetic operator of the Vector engine.");
  instruction.op0 = AluOp::kAbs;
  EXPECT_EQ(reduced.error(), "");
  instruction.constant0 = 3;
  EXPECT_EQ(reduced.error(),
            "operand 'operand0' of 'tensor_scalar_reduce' must be None or 0 for the unary "
            "operator abs.");
}

TEST(TensorScalarReduce, LimitsAreCheckedFromBothSides) {
  EXPECT_EQ(Reduced({128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(Reduced({1, 4097}, kFp32, kPsum).error(),
            "number of elements per partition 4097 in 'data[1, 4097]' of 'tensor_scalar_reduce' "
            "exceed architecture limitation of 4096 in psum. (instruction 'tensor_scalar_reduce', "
            "operand 'data', architecture trn2)");
  EXPECT_EQ(Reduced({129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_scalar_reduce', operand 'data', architecture trn2)");
}

TEST(TensorScalarReduce, DemandsOnePassAndReadingTheRegisters) {
  Reduced reduced({2, 7}, kFp32, kPsum);
  EXPECT_EQ(reduced.step().rate, RateClass::kOneInput);
  EXPECT_EQ(reduced.step().elements, 7);
  EXPECT_TRUE(reduced.step().source_psum);
  EXPECT_TRUE(reduced.step().reads_accumulator);
  EXPECT_FALSE(reduced.step().pointer_operand);
  reduced.instruction.operand0 = reduced.bench.tile(kSbuf, kFp32, {2, 1}, "w");
  EXPECT_TRUE(reduced.step().pointer_operand);
  reduced.instruction.reduce_res = View();
  EXPECT_FALSE(reduced.step().reads_accumulator);
}

}  // namespace
}  // namespace neuron_sim
