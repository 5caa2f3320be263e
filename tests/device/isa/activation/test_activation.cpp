#include <gtest/gtest.h>

#include "device/isa/activation/activation.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

double reference(Activation op, double x) {
  switch (op) {
    case Activation::kRelu: return std::isnan(x) ? x : std::max(x, 0.0);
    case Activation::kExp: return std::exp(x);
    case Activation::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
    case Activation::kSquare: return x * x;
    case Activation::kSqrt: return std::sqrt(x);
    case Activation::kRsqrt: return 1 / std::sqrt(x);
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kLog: return std::log(x);
    case Activation::kReciprocal: return 1 / x;
    case Activation::kErf: return std::erf(x);
    case Activation::kArctan: return std::atan(x);
    case Activation::kAbs: return std::abs(x);
    default: return x;
  }
}

TEST(Activate, AppliesFunctionsToScaledAndShiftedData) {
  for (const Activation function :
       {Activation::kIdentity, Activation::kRelu, Activation::kExp, Activation::kGelu,
        Activation::kSigmoid, Activation::kTanh, Activation::kSquare, Activation::kSqrt,
        Activation::kRsqrt, Activation::kSilu, Activation::kLog, Activation::kReciprocal,
        Activation::kErf, Activation::kArctan, Activation::kAbs}) {
    SCOPED_TRACE(name(function));
    const bool positive = function == Activation::kSqrt || function == Activation::kRsqrt ||
                          function == Activation::kLog || function == Activation::kReciprocal;
    InstructionBench bench;
    const View data =
        bench.tile(kPsum, kFp32, {65, 33}, "data", random_values(65 * 33, positive ? 0.1 : -4, 4));
    const View bias = bench.tile(kSbuf, kBf16, {65, 1}, "bias", random_values(65, 0, 2, 4));
    const View dst = bench.tile(kSbuf, kFp32, {65, 33}, "dst");
    bench.run(Activate{.dst = dst, .data = data, .op = function, .bias_tile = bias, .scale = 0.75});
    const std::vector<double> x = bench.get(data), b = bench.get(bias), y = bench.get(dst);
    for (size_t i = 0; i < y.size(); ++i) {
      const double input = round_to(kFp32, round_to(kFp32, x[i] * 0.75) + b[i / 33]);
      const double expected = reference(function, input);
      ASSERT_NEAR(y[i], expected, std::abs(expected) * 2e-6 + 1e-7) << "element " << i;
    }
  }
}

TEST(Activate, RoundsOnceToTheDtypeOfDst) {
  const std::vector<double> values = {1.00390625, -70000, NAN, INFINITY, -0.0, 2.5, 1e-40, 255.5};
  for (const Dtype dtype : {kBf16, Dtype::kFloat16, Dtype::kFloat8E5m2, Dtype::kInt8, kFp32}) {
    InstructionBench bench;
    const View data = bench.tile(kSbuf, kFp32, {2, 4}, "data", values);
    const View dst = bench.tile(kSbuf, dtype, {2, 4}, "dst");
    bench.run(Activate{.dst = dst, .data = data, .scale = 3});
    std::vector<double> expected;
    for (const double x : bench.get(data)) {
      expected.push_back(round_to(dtype, round_to(kFp32, x * 3)));
    }
    expect_values(bench.get(dst), expected);
  }
}

TEST(Activate, TakesScalesPerPartitionAndStridedOperands) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kBf16, {96, 10, 7}, "wide", random_values(96 * 70));
  const View data = wide.slice(0, 64, 32).slice(1, 0, 5, 2).slice(2, 1, 5);
  const View scale =
      bench.tile(kSbuf, kFp32, {32, 3}, "scale", random_values(96, -2, 2, 3)).slice(1, 1, 1);
  const View dst = bench.tile(kPsum, kFp32, {128, 25}, "dst").slice(0, 32, 32);
  bench.run(Activate{.dst = dst, .data = data, .scale_tile = scale});
  const std::vector<double> x = bench.get(data), s = bench.get(scale);
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) expected.push_back(round_to(kFp32, x[i] * s[i / 25]));
  expect_values(bench.get(dst), expected);
}

TEST(Activate, WorksInPlace) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {3, 50}, "data", random_values(150));
  const View dst = bench.tile(kSbuf, kFp32, {3, 50}, "dst");
  Activate activate{.dst = dst, .data = data, .op = Activation::kGelu};
  bench.run(activate);
  activate.dst = data;
  bench.run(activate);
  expect_values(bench.get(data), bench.get(dst));
}

/// The sum in the documented order, in fp32.
float sum_of(const std::vector<double>& values, size_t first, size_t count) {
  std::vector<float> lanes(16, 0.0F);
  for (size_t i = 0; i < count; ++i) lanes[i % 16] += static_cast<float>(values[first + i]);
  while (lanes.size() > 1) {
    const size_t half = lanes.size() / 2;
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    lanes.resize(half);
  }
  return lanes[0];
}

TEST(Activate, KeepsARunningSumInTheRegisters) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {4, 37}, "data", random_values(148));
  const View dst = bench.tile(kSbuf, kBf16, {4, 37}, "dst");
  const View registers = engine_state(EngineState::kScalarAccumulator, 4);
  bench.set(registers, {9, 9, 9, 9});
  const View result = bench.tile(kSbuf, kFp32, {4, 1}, "result");
  Activate activate{.dst = dst,
                    .data = data,
                    .reduce_op = AluOp::kAdd,
                    .reduce_command = ReduceCommand::kResetReduce};
  const std::vector<double> x = bench.get(data);
  std::vector<double> once, twice;
  for (size_t p = 0; p < 4; ++p) {
    const float sum = sum_of(x, p * 37, 37);
    once.push_back(sum);
    twice.push_back(sum + sum);
  }
  bench.run(activate);
  expect_values(bench.get(registers), once);
  activate.reduce_command = ReduceCommand::kReduce;
  activate.reduce_res = result;
  bench.run(activate);
  expect_values(bench.get(registers), twice);
  expect_values(bench.get(result), twice);
  activate.reduce_command = ReduceCommand::kIdle;
  activate.reduce_res = bench.tile(kPsum, kBf16, {4, 1}, "narrow");
  bench.run(activate);
  for (double& value : twice) value = round_to(kBf16, value);
  expect_values(bench.get(activate.reduce_res), twice);
  activate.reduce_command = ReduceCommand::kReset;
  activate.reduce_res = result;
  bench.run(activate);
  expect_values(bench.get(result), {0, 0, 0, 0});
}

TEST(Activate, UsesTheRegistersOnlyWhereTheyAreChangedOrRead) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {4, 3}, "data");
  Activate activate{.dst = data, .data = data};
  const auto registers = [&] { return activate.draft().operand(4); };
  EXPECT_FALSE(registers().present());
  activate.reduce_op = AluOp::kAdd;
  EXPECT_FALSE(registers().present()) << "idle";
  activate.reduce_command = ReduceCommand::kReduce;
  EXPECT_EQ(registers().tile(), static_cast<TileId>(EngineState::kScalarAccumulator));
  EXPECT_EQ(registers().shape(), (std::vector<int64_t>{4, 1}));
  activate.reduce_command = ReduceCommand::kIdle;
  activate.reduce_res = bench.tile(kSbuf, kFp32, {4, 1}, "result");
  EXPECT_TRUE(registers().present());
}

TEST(Activate, DemandsAnElementwiseStepOnTheScalarEngine) {
  InstructionBench bench;
  const View data = bench.tile(kPsum, kFp32, {8, 100}, "data");
  const View dst = bench.tile(kSbuf, kFp32, {8, 100}, "dst");
  const View column = bench.tile(kSbuf, kFp32, {8, 1}, "column");
  const Demand demand = bench.demand(Activate{
      .dst = dst, .data = data, .op = Activation::kExp, .bias_tile = column, .reduce_res = column});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kElementwise);
  EXPECT_EQ(demand.steps[0].elements, 100);
  EXPECT_TRUE(demand.steps[0].source_psum);
  EXPECT_TRUE(demand.steps[0].pointer_operand);
  EXPECT_TRUE(demand.steps[0].reads_accumulator);
  EXPECT_EQ(demand.steps[0].table, table_of(Activation::kExp));
  const Step plain = bench.demand(Activate{.dst = dst, .data = dst}).steps[0];
  EXPECT_FALSE(plain.source_psum || plain.pointer_operand || plain.reads_accumulator);
}

}  // namespace
}  // namespace neuron_sim
