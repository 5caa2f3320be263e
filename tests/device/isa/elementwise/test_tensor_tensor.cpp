#include "device/isa/elementwise/tensor_tensor.h"

#include <cmath>

#include "tests/device/isa/patterns.h"
#include "tests/device/isa/tensor_tensor_tiles.h"

namespace neuron_sim {
namespace {

const double kNan = std::nan("");
const double kInf = INFINITY;

double expected_value(AluOp op, double a, double b) {
  switch (op) {
    case AluOp::kAdd: return a + b;
    case AluOp::kSubtract: return a - b;
    case AluOp::kMultiply: return a * b;
    case AluOp::kDivide: return a / b;
    case AluOp::kMaximum: return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case AluOp::kMinimum: return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case AluOp::kEqual: return a == b;
    case AluOp::kNotEqual: return a != b;
    case AluOp::kGreaterEqual: return a >= b;
    case AluOp::kGreater: return a > b;
    case AluOp::kLessEqual: return a <= b;
    case AluOp::kLess: return a < b;
    case AluOp::kLogicalAnd: return a != 0 && b != 0;
    case AluOp::kLogicalOr: return a != 0 || b != 0;
    case AluOp::kLogicalXor: return (a != 0) != (b != 0);
    case AluOp::kAbsMax: return std::max(std::abs(a), std::abs(b));
    case AluOp::kAbsMin: return std::min(std::abs(a), std::abs(b));
    default: ADD_FAILURE(); return 0;
  }
}

const std::vector<AluOp> kArithmetic = {AluOp::kAdd,        AluOp::kSubtract,  AluOp::kMultiply,
                                        AluOp::kDivide,     AluOp::kMaximum,   AluOp::kMinimum,
                                        AluOp::kEqual,      AluOp::kNotEqual,  AluOp::kGreaterEqual,
                                        AluOp::kGreater,    AluOp::kLessEqual, AluOp::kLess,
                                        AluOp::kLogicalAnd, AluOp::kLogicalOr, AluOp::kLogicalXor,
                                        AluOp::kAbsMax,     AluOp::kAbsMin};

TEST(TensorTensor, EveryOperatorMatchesDoublePrecisionInFp32) {
  for (AluOp op : kArithmetic) {
    SCOPED_TRACE(std::string(name(op)));
    for (int64_t elements : {1, 7, 64, 513}) {
      TensorTensorTiles tiles = dense_tiles(kFp32, {5, elements});
      auto& [bench, instruction] = tiles;
      std::vector<double> a = fill_random(bench, instruction.data1, 1);
      std::vector<double> b = fill_random(bench, instruction.data2, 2);
      a[0] = b[0];
      bench.set(instruction.data1, a);
      instruction.op = op;
      bench.run(instruction);
      std::vector<double> expected;
      for (size_t i = 0; i < a.size(); ++i) {
        expected.push_back(stored(kFp32, expected_value(op, a[i], b[i])));
      }
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(TensorTensor, EveryMixOfDtypesComputesInFp32AndRoundsOnce) {
  for (Dtype first : all_dtypes()) {
    for (Dtype second : all_dtypes()) {
      for (Dtype target : all_dtypes()) {
        InstructionBench bench;
        TensorTensor instruction{.dst = bench.tile(kSbuf, target, {2, 9}, "dst"),
                                 .data1 = bench.tile(kSbuf, first, {2, 9}, "a"),
                                 .data2 = bench.tile(kSbuf, second, {2, 9}, "b"),
                                 .op = AluOp::kMultiply,
                                 .engine = EngineKind::kVector};
        std::vector<double> a = fill_random(bench, instruction.data1, 1, -100, 100);
        std::vector<double> b = fill_random(bench, instruction.data2, 2, -100, 100);
        bench.run(instruction);
        std::vector<double> expected;
        for (size_t i = 0; i < a.size(); ++i) expected.push_back(stored(target, a[i] * b[i]));
        SCOPED_TRACE(std::string(name(first)) + " " + std::string(name(second)) + " " +
                     std::string(name(target)));
        expect_values(bench.get(instruction.dst), expected);
      }
    }
  }
}

TEST(TensorTensor, EveryCombinationOfAccessPatternsGivesTheSameElements) {
  for (Dtype dtype : {kFp32, kBf16}) {
    for (Pattern first : source_patterns()) {
      for (Pattern second : source_patterns()) {
        for (Pattern target : target_patterns()) {
          InstructionBench bench;
          TensorTensor instruction{.dst = pattern_view(bench, target, dtype, "dst"),
                                   .data1 = pattern_view(bench, first, dtype, "a"),
                                   .data2 = pattern_view(bench, second, dtype, "b"),
                                   .op = AluOp::kSubtract};
          for (const View* view : {&instruction.data1, &instruction.data2}) {
            bench.set(*view, random_values(kPatternValues, -4, 4, view == &instruction.data1));
          }
          std::vector<double> a = bench.get(instruction.data1);
          std::vector<double> b = bench.get(instruction.data2);
          bench.run(instruction);
          std::vector<double> expected;
          for (size_t i = 0; i < a.size(); ++i) expected.push_back(stored(dtype, a[i] - b[i]));
          expect_values(bench.get(instruction.dst), expected);
        }
      }
    }
  }
}

TEST(TensorTensor, TheDestinationMayBeAnInput) {
  for (Pattern pattern : target_patterns()) {
    for (bool first : {true, false}) {
      InstructionBench bench;
      View same = pattern_view(bench, pattern, kFp32, "x");
      View other = pattern_view(bench, Pattern::kDense, kFp32, "y");
      std::vector<double> a = fill_random(bench, same, 1);
      std::vector<double> b = fill_random(bench, other, 2);
      TensorTensor instruction{.dst = same,
                               .data1 = first ? same : other,
                               .data2 = first ? other : same,
                               .op = AluOp::kSubtract};
      bench.run(instruction);
      std::vector<double> expected;
      for (size_t i = 0; i < a.size(); ++i) {
        expected.push_back(stored(kFp32, first ? a[i] - b[i] : b[i] - a[i]));
      }
      expect_values(bench.get(same), expected);
    }
  }
}

TEST(TensorTensor, ABroadcastElementOfTheDestinationIsReadBeforeItIsWritten) {
  InstructionBench bench;
  View x = bench.tile(kSbuf, kFp32, {1, 4}, "x", {1, 2, 3, 4});
  TensorTensor instruction{
      .dst = x, .data1 = x, .data2 = x.slice(1, 0, 1).broadcast(1, 4), .op = AluOp::kSubtract};
  bench.run(instruction);
  expect_values(bench.get(x), {0, 1, 2, 3});
}

TEST(TensorTensor, NanAndInfinityFollowIeeeAndMaximumKeepsNan) {
  const std::vector<double> a = {kNan, 1, kInf, -kInf, kInf, 0, 3e38};
  const std::vector<double> b = {1, kNan, -kInf, -kInf, 0, 0, 3e38};
  for (AluOp op : {AluOp::kAdd, AluOp::kMultiply, AluOp::kDivide, AluOp::kMaximum, AluOp::kMinimum,
                   AluOp::kEqual, AluOp::kNotEqual, AluOp::kLess, AluOp::kLogicalAnd}) {
    SCOPED_TRACE(std::string(name(op)));
    TensorTensorTiles tiles = dense_tiles(kFp32, {1, 7});
    auto& [bench, instruction] = tiles;
    bench.set(instruction.data1, a);
    bench.set(instruction.data2, b);
    instruction.op = op;
    bench.run(instruction);
    std::vector<double> expected;
    for (size_t i = 0; i < a.size(); ++i) {
      expected.push_back(
          stored(kFp32, expected_value(op, static_cast<float>(a[i]), static_cast<float>(b[i]))));
    }
    expect_values(bench.get(instruction.dst), expected);
  }
}

TEST(TensorTensor, IntegersAreExactOnGpsimdAndRoundedToFp32OnVector) {
  const double large = 2147483647;
  for (EngineKind engine : {EngineKind::kAuto, EngineKind::kGpSimd, EngineKind::kVector}) {
    TensorTensorTiles tiles = dense_tiles(Dtype::kInt32, {1, 4});
    auto& [bench, instruction] = tiles;
    bench.set(instruction.data1, {16777217, large, -large, 65537});
    bench.set(instruction.data2, {2, 1, 5, 65537});
    instruction.engine = engine;
    bench.run(instruction);
    const bool exact = engine != EngineKind::kVector;
    expect_values(bench.get(instruction.dst),
                  exact ? std::vector<double>{16777219, -2147483648.0, -large + 5, 131074}
                        : std::vector<double>{16777218, large, -2147483648.0, 131074});
  }
}

TEST(TensorTensor, AnUnsignedProductWrapsModulo2ToThe32) {
  TensorTensorTiles tiles = dense_tiles(Dtype::kUint32, {1, 2});
  auto& [bench, instruction] = tiles;
  bench.set(instruction.data1, {4294967295.0, 65536});
  bench.set(instruction.data2, {4294967295.0, 65537});
  instruction.op = AluOp::kMultiply;
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {1, 65536});
}

TEST(TensorTensor, BitwiseOperatorsAndShiftsWorkOnEveryIntegerDtype) {
  for (Dtype dtype : {Dtype::kInt8, Dtype::kUint8, Dtype::kInt16, Dtype::kUint16, Dtype::kInt32,
                      Dtype::kUint32}) {
    TensorTensorTiles tiles = dense_tiles(dtype, {1, 3});
    auto& [bench, instruction] = tiles;
    bench.set(instruction.data1, {12, 7, 100});
    bench.set(instruction.data2, {10, 1, 3});
    auto result = [&](AluOp op) {
      instruction.op = op;
      bench.run(instruction);
      return bench.get(instruction.dst);
    };
    expect_values(result(AluOp::kBitwiseAnd), {8, 1, 0});
    expect_values(result(AluOp::kBitwiseOr), {14, 7, 103});
    expect_values(result(AluOp::kBitwiseXor), {6, 6, 103});
    expect_values(result(AluOp::kRightShift), {0, 3, 12});
  }
}

TEST(TensorTensor, RightShiftIsLogicalAndAShiftBy32Clears) {
  TensorTensorTiles tiles = dense_tiles(Dtype::kInt32, {1, 3});
  auto& [bench, instruction] = tiles;
  bench.set(instruction.data1, {-1, -1, 1});
  bench.set(instruction.data2, {28, 32, 0});
  instruction.op = AluOp::kRightShift;
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {15, 0, 1});
  instruction.op = AluOp::kLeftShift;
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {-268435456, 0, 1});
}

TEST(TensorTensor, PowerRunsOnGpsimdInFp32) {
  TensorTensorTiles tiles = dense_tiles(kFp32, {1, 4});
  auto& [bench, instruction] = tiles;
  bench.set(instruction.data1, {2, 9, -2, 0});
  bench.set(instruction.data2, {10, 0.5, 3, 0});
  instruction.op = AluOp::kPower;
  EXPECT_EQ(bench.prepare(instruction).engine, EngineKind::kGpSimd);
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {1024, 3, -8, 1});
  instruction.engine = EngineKind::kVector;
  EXPECT_EQ(tiles.error(),
            "instruction 'tensor_tensor of power' cannot run on the Vector engine; architecture "
            "trn2 has it on: GpSimd.");
}

}  // namespace
}  // namespace neuron_sim
