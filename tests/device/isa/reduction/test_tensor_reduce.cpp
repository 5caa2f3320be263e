#include "device/isa/reduction/tensor_reduce.h"

#include <cmath>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

const double kNan = std::nan("");

/// In order, with one fp32 rounding per addition, written without device code.
double sum_in_order(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum = round_to(kFp32, sum + value);
  return sum;
}

using Tiles = InstructionTiles<TensorReduce>;

Tiles tiles_of(Dtype dtype, std::vector<int64_t> data, std::vector<int64_t> target,
               const std::vector<double>& values = {}) {
  Tiles tiles;
  tiles.instruction.dst = tiles.bench.tile(kSbuf, dtype, target, "dst");
  tiles.instruction.data = tiles.bench.tile(kSbuf, dtype, data, "data");
  if (!values.empty()) tiles.bench.set(tiles.instruction.data, values);
  return tiles;
}

/// Sums of `count` groups of `group` elements on each of `partitions`, to the bit.
void check_sums(Dtype dtype, int64_t partitions, int64_t count, int64_t group) {
  SCOPED_TRACE(text(name(dtype), " [", partitions, ", ", count, ", ", group, "]"));
  InstructionBench bench;
  TensorReduce instruction{.dst = bench.tile(kSbuf, kFp32, {partitions, count}, "dst"),
                           .data = bench.tile(kSbuf, dtype, {partitions, count, group}, "data")};
  fill_random(bench, instruction.data, 1, -1e3, 1e3);
  const std::vector<double> data = bench.get(instruction.data);
  std::vector<double> expected;
  for (auto row = data.begin(); row != data.end(); row += group) {
    expected.push_back(sum_in_order({row, row + group}));
  }
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), expected);
}

TEST(TensorReduce, AddsOneElementAfterTheOtherToTheBit) {
  for (const Dtype dtype : {kFp32, kBf16}) {  // in place, and copied
    for (const int64_t group : {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 100, 513, 4096}) {
      check_sums(dtype, 3, 1, group);
    }
    for (const int64_t partitions : {1, 4, 5, 15, 16, 17, 37}) check_sums(dtype, partitions, 1, 50);
    for (const int64_t count : {2, 5, 15, 16, 17, 40}) check_sums(dtype, 7, count, 19);
  }
}

TEST(TensorReduce, EveryOperatorReducesTheTrailingDimensions) {
  for (int64_t axes : {1, 2, 3, 4}) {
    const std::vector<int64_t> sizes = {2, 3, 2, 4};
    int64_t group = 1;
    for (int64_t i = 4 - axes; i < 4; ++i) group *= sizes[static_cast<size_t>(i)];
    const int64_t remaining = 48 / group;
    Tiles tiles = tiles_of(kFp32, {2, 2, 3, 2, 4}, {2, remaining});
    std::vector<double> values;  // small integers: every order gives the same sum
    for (double value : random_values(96, -3, 4)) values.push_back(std::floor(value));
    tiles.bench.set(tiles.instruction.data, values);
    tiles.instruction.axes = axes;
    for (AluOp op : {AluOp::kAdd, AluOp::kSubtract, AluOp::kMaximum, AluOp::kMinimum,
                     AluOp::kLogicalAnd, AluOp::kLogicalOr, AluOp::kLogicalXor}) {
      std::vector<double> expected;
      for (int64_t o = 0; o < 2 * remaining; ++o) {
        double result = values[static_cast<size_t>(o * group)];
        int64_t ones = result != 0;
        for (int64_t i = 1; i < group; ++i) {
          double x = values[static_cast<size_t>(o * group + i)];
          ones += x != 0;
          if (op == AluOp::kAdd) result += x;
          if (op == AluOp::kSubtract) result -= x;
          if (op == AluOp::kMaximum) result = std::max(result, x);
          if (op == AluOp::kMinimum) result = std::min(result, x);
        }
        if (op == AluOp::kLogicalAnd) result = ones == group;
        if (op == AluOp::kLogicalOr) result = ones > 0;
        if (op == AluOp::kLogicalXor) result = ones % 2;
        expected.push_back(result);
      }
      tiles.instruction.op = op;
      SCOPED_TRACE(std::string(name(op)));
      expect_values(tiles.run(), expected);
    }
  }
}

TEST(TensorReduce, MultiplyOfPowersOfTwoIsExactAndNegateFlipsTheSign) {
  std::vector<double> values;
  for (int i = 0; i < 37; ++i) values.push_back(i % 2 == 0 ? 2 : 0.5);
  Tiles tiles = tiles_of(kFp32, {1, 37}, {1, 1}, values);
  tiles.instruction.op = AluOp::kMultiply;
  expect_values(tiles.run(), {2});
  tiles.instruction.negate = true;
  expect_values(tiles.run(), {-2});
}

TEST(TensorReduce, ASingleElementIsItsOwnResultButLogicalGivesOneOrZero) {
  Tiles tiles = tiles_of(kFp32, {1, 3, 1}, {1, 3}, {5, 0, kNan});
  expect_values(tiles.run(), {5, 0, kNan});
  tiles.instruction.op = AluOp::kLogicalOr;
  expect_values(tiles.run(), {1, 0, 1});
}

TEST(TensorReduce, NanAtAnyPlaceReachesTheResult) {
  for (AluOp op : {AluOp::kAdd, AluOp::kMaximum, AluOp::kMinimum, AluOp::kMultiply}) {
    for (size_t place : {0, 1, 15, 16, 17, 39}) {
      std::vector<double> values(40, 1.0);
      values[place] = kNan;
      Tiles tiles = tiles_of(kFp32, {1, 40}, {1, 1}, values);
      tiles.instruction.op = op;
      expect_values(tiles.run(), {kNan});
    }
  }
  Tiles infinite = tiles_of(kFp32, {1, 3}, {1, 1}, {-INFINITY, 1, INFINITY});
  infinite.instruction.op = AluOp::kMaximum;
  expect_values(infinite.run(), {INFINITY});
}

TEST(TensorReduce, APermutedViewReducesAnotherDimension) {
  Tiles tiles = tiles_of(kFp32, {1, 2, 3}, {1, 3}, {1, 2, 3, 10, 20, 30});
  tiles.instruction.data = tiles.instruction.data.permute({0, 2, 1});
  expect_values(tiles.run(), {11, 22, 33});
}

TEST(TensorReduce, LowPrecisionAccumulatesInFp32AndRoundsOnce) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern source : source_patterns()) {
      InstructionBench bench;
      TensorReduce instruction{.dst = bench.tile(kSbuf, dtype, {3, 1}, "dst"),
                               .data = pattern_view(bench, source, dtype, "data")};
      instruction.axes = instruction.data.rank() - 1;
      bench.set(instruction.data, random_values(kPatternValues, 0, 12));
      std::vector<double> data = bench.get(instruction.data), expected;
      for (auto row = data.begin(); row != data.end(); row += kPatternElements) {
        expected.push_back(stored(dtype, sum_in_order({row, row + kPatternElements})));
      }
      bench.run(instruction);
      SCOPED_TRACE(std::string(name(dtype)));
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(TensorReduce, BitwiseOperatorsReduceIntegersExactly) {
  Tiles tiles = tiles_of(Dtype::kInt32, {1, 3}, {1, 1}, {0x0FFFFFFF, -2, 0x01FFFFFF});
  tiles.instruction.op = AluOp::kBitwiseAnd;
  expect_values(tiles.run(), {0x01FFFFFE});
  tiles.instruction.op = AluOp::kBitwiseXor;
  expect_values(tiles.run(), {static_cast<double>(0x0FFFFFFF ^ -2 ^ 0x01FFFFFF)});
  tiles.instruction.negate = true;
  EXPECT_EQ(tiles.error(),
            "negate of 'tensor_reduce' is not supported with the bitwise operator bitwise_xor.");
  Tiles floats = tiles_of(kFp32, {1, 3}, {1, 1});
  floats.instruction.op = AluOp::kBitwiseOr;
  EXPECT_EQ(floats.error(),
            "dtype float32 of operand 'data' of 'tensor_reduce' is not supported; expected "
            "integers of one size for the bitwise operator bitwise_or.");
}

TEST(TensorReduce, TheDestinationMayBeginAtTheData) {
  Tiles tiles = tiles_of(kFp32, {1, 4, 2}, {1, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  tiles.instruction.dst = tiles.instruction.data.flatten().slice(1, 0, 4);
  expect_values(tiles.run(), {3, 7, 11, 15});
}

TEST(TensorReduce, AxesOperatorsShapesAndEngineAreChecked) {
  Tiles tiles = tiles_of(kFp32, {2, 3, 4}, {2, 3});
  EXPECT_EQ(tiles.error(), "");
  tiles.instruction.axes = 2;
  EXPECT_EQ(tiles.error(),
            "operand 'dst' of 'tensor_reduce' (dst[2, 3]) must have 1 elements per partition: "
            "operand 'data' (data[2, 3, 4]) without its last 2 dimensions.");
  for (int64_t axes : {0, 3}) {
    tiles.instruction.axes = axes;
    EXPECT_EQ(tiles.error(), "axes " + std::to_string(axes) +
                                 " of 'tensor_reduce' must be 1 to 2, the free dimensions of "
                                 "operand 'data' (data[2, 3, 4]).");
  }
  tiles.instruction.axes = 1;
  tiles.instruction.op = AluOp::kDivide;
  EXPECT_EQ(tiles.error(),
            "operator 'divide' of 'tensor_reduce' is not supported; expected add, subtract, "
            "multiply, maximum, minimum, logical or bitwise and, or, xor.");
  tiles.instruction.op = AluOp::kAdd;
  tiles.instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(tiles.error(),
            "instruction 'tensor_reduce' cannot run on the GpSimd engine; architecture trn2 has "
            "it on: Vector.");
  EXPECT_EQ(tiles_of(kFp32, {129, 2}, {129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_reduce', operand 'data', architecture trn2)");
}

TEST(TensorReduce, AListOfAxesNamesTheLastFreeDimensions) {
  EXPECT_EQ(trailing_axes(std::vector<int64_t>{3}, 4), 1);
  EXPECT_EQ(trailing_axes(std::vector<int64_t>{-1}, 4), 1);
  EXPECT_EQ(trailing_axes(std::vector<int64_t>{3, 2}, 4), 2);
  EXPECT_EQ(trailing_axes(std::vector<int64_t>{1, -2, 3}, 4), 3);
  const auto error = [](const std::vector<int64_t>& axis, int rank) {
    try {
      trailing_axes(axis, rank);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string rule =
      " of 'tensor_reduce' must be the last contiguous free dimensions of operand 'data', which "
      "has 4 dimensions; axis 0 (the partition axis) cannot be reduced.";
  EXPECT_EQ(error({0, 1, 2, 3}, 4), "axis (0, 1, 2, 3)" + rule);
  EXPECT_EQ(error({1}, 4), "axis (1)" + rule);
  EXPECT_EQ(error({1, 3}, 4), "axis (1, 3)" + rule);
  EXPECT_EQ(error({3, 3}, 4), "axis (3, 3)" + rule);
  EXPECT_EQ(error({4}, 4), "axis (4)" + rule);
  EXPECT_EQ(error({}, 4), "axis ()" + rule);
}

TEST(TensorReduce, KeptDimensionsOfSizeOneChangeNothing) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {2, 3, 1}, {2, 1, 3, 1}}) {
    Tiles tiles = tiles_of(kFp32, {2, 3, 2}, shape);
    tiles.bench.set(tiles.instruction.data, {1, 2, 3, 4, 5, 6, -1, 1, 2, 2, 0, 7});
    tiles.bench.run(tiles.instruction);
    expect_values(tiles.bench.get(tiles.instruction.dst), {3, 7, 11, 0, 4, 7});
  }
}

TEST(TensorReduce, DemandsTheFastRateForBfloat16AddAndMaximum) {
  auto step = [](Dtype dtype, AluOp op) {
    Tiles tiles = tiles_of(dtype, {2, 3, 4}, {2, 3});
    tiles.instruction.op = op;
    return tiles.bench.demand(tiles.instruction).steps[0];
  };
  EXPECT_EQ(step(kBf16, AluOp::kAdd).rate, RateClass::kReduce16bit);
  EXPECT_EQ(step(kBf16, AluOp::kMaximum).rate, RateClass::kReduce16bit);
  EXPECT_EQ(step(kBf16, AluOp::kMinimum).rate, RateClass::kOneInput);
  EXPECT_EQ(step(Dtype::kFloat16, AluOp::kAdd).rate, RateClass::kOneInput);
  EXPECT_EQ(step(kFp32, AluOp::kAdd).rate, RateClass::kOneInput);
  EXPECT_EQ(step(kFp32, AluOp::kAdd).elements, 12) << "elements of the data, not of the result";
}

}  // namespace
}  // namespace neuron_sim
