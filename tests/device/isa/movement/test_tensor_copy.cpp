#include "device/isa/movement/tensor_copy.h"

#include <cmath>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TensorCopy tiles_of(InstructionBench& bench, Dtype source, Dtype target, std::vector<int64_t> shape,
                    MemoryKind source_memory = kSbuf, MemoryKind target_memory = kSbuf) {
  return {.dst = bench.tile(target_memory, target, shape, "dst"),
          .src = bench.tile(source_memory, source, shape, "src")};
}

std::vector<uint32_t> random_bits(Dtype dtype, int64_t count) {
  std::vector<uint32_t> bits;
  const double range = std::ldexp(1.0, 8 * itemsize(dtype));
  for (double value : random_values(count, 0, range)) bits.push_back(static_cast<uint32_t>(value));
  return bits;
}

TEST(TensorCopy, EqualDtypesCopyEveryBitOverEveryPattern) {
  for (Dtype dtype : {Dtype::kFloat8E4m3, kBf16, Dtype::kFloat16, kFp32, Dtype::kInt32}) {
    for (Pattern source : source_patterns()) {
      for (Pattern target : target_patterns()) {
        InstructionBench bench;
        TensorCopy instruction{.dst = pattern_view(bench, target, dtype, "dst"),
                               .src = pattern_view(bench, source, dtype, "src")};
        bench.set_bits(instruction.src, random_bits(dtype, kPatternValues));
        std::vector<uint32_t> expected = bench.bits(instruction.src);
        bench.run(instruction);
        EXPECT_EQ(bench.bits(instruction.dst), expected);
      }
    }
  }
}

TEST(TensorCopy, SignallingNanAndPayloadsStayOnEveryEngine) {
  for (EngineKind engine : {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}) {
    InstructionBench bench;
    TensorCopy instruction = tiles_of(bench, kFp32, kFp32, {1, 4});
    instruction.engine = engine;
    const std::vector<uint32_t> bits = {0x7F800001, 0xFFC12345, 0x80000000, 0x00000001};
    bench.set_bits(instruction.src, bits);
    bench.run(instruction);
    EXPECT_EQ(bench.bits(instruction.dst), bits);
  }
}

TEST(TensorCopy, IntegersAreExactUnlessTheScalarEngineOnlyHasFp32) {
  for (bool scalar_tensor_ops : {true, false}) {
    Architecture architecture = test_architecture();
    architecture.features.scalar_tensor_ops = scalar_tensor_ops;
    InstructionBench bench(architecture);
    TensorCopy instruction = tiles_of(bench, Dtype::kInt32, Dtype::kInt32, {1, 1});
    instruction.engine = EngineKind::kScalar;
    bench.set(instruction.src, {16777217});
    bench.run(instruction);
    expect_values(bench.get(instruction.dst), {scalar_tensor_ops ? 16777217.0 : 16777216.0});
  }
}

TEST(TensorCopy, DifferentDtypesGoThroughFp32AndRoundOnce) {
  for (Dtype source : all_dtypes()) {
    for (Dtype target : all_dtypes()) {
      if (source == target) continue;
      InstructionBench bench;
      TensorCopy instruction = tiles_of(bench, source, target, {3, 25});
      std::vector<double> data = fill_random(bench, instruction.src, 1, -1000, 70000);
      bench.run(instruction);
      std::vector<double> expected;
      for (double value : data) expected.push_back(stored(target, value));
      SCOPED_TRACE(std::string(name(source)) + " to " + std::string(name(target)));
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(TensorCopy, CastsWorkOverEveryPattern) {
  for (Pattern source : source_patterns()) {
    for (Pattern target : target_patterns()) {
      InstructionBench bench;
      TensorCopy instruction{.dst = pattern_view(bench, target, kBf16, "dst", kPsum),
                             .src = pattern_view(bench, source, kFp32, "src")};
      bench.set(instruction.src, random_values(kPatternValues));
      std::vector<double> expected;
      for (double value : bench.get(instruction.src)) {
        expected.push_back(stored(kBf16, value));
      }
      bench.run(instruction);
      expect_values(bench.get(instruction.dst), expected);
    }
  }
}

TEST(TensorCopy, ACopyOntoItselfChangesNothing) {
  InstructionBench bench;
  View x = bench.tile(kSbuf, Dtype::kInt16, {2, 3}, "x", {1, -2, 3, 4, 5, 6});
  bench.run(TensorCopy{.dst = x, .src = x});
  expect_values(bench.get(x), {1, -2, 3, 4, 5, 6});
}

TEST(TensorCopy, NanBecomesZeroInIntegersAndInfinitySaturates) {
  InstructionBench bench;
  TensorCopy instruction = tiles_of(bench, kFp32, Dtype::kInt8, {1, 4});
  bench.set(instruction.src, {std::nan(""), INFINITY, -INFINITY, 2.5});
  bench.run(instruction);
  expect_values(bench.get(instruction.dst), {0, 127, -128, 2});
}

TEST(TensorCopy, TheDefaultEngineIsVectorAndGpsimdRefusesPsum) {
  InstructionBench bench;
  TensorCopy instruction = tiles_of(bench, kFp32, kFp32, {2, 2}, kPsum);
  EXPECT_EQ(bench.prepare(instruction).engine, EngineKind::kVector);
  instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(bench.error(instruction),
            "Expected operand 'src' of 'tensor_copy' to be in address space 'sbuf', but got a tile "
            "in 'psum' instead. The GpSimd engine cannot access PSUM.");
  instruction.engine = EngineKind::kTensor;
  EXPECT_EQ(bench.error(instruction),
            "instruction 'tensor_copy' cannot run on the Tensor engine; architecture trn2 has it "
            "on: Vector, Scalar, GpSimd.");
}

TEST(TensorCopy, ShapesAndLimitsAreChecked) {
  InstructionBench bench;
  TensorCopy instruction = tiles_of(bench, kFp32, kFp32, {128, 16});
  EXPECT_EQ(bench.error(instruction), "");
  instruction.src = instruction.src.split(1, 4, 4);
  EXPECT_EQ(bench.error(instruction), "") << "only element counts must agree";
  instruction.src = bench.tile(kSbuf, kFp32, {128, 17}, "src");
  EXPECT_EQ(bench.error(instruction),
            "number of elements per partition mismatch in parameters (dst[128, 16], src[128, 17]) "
            "of 'tensor_copy'");
  EXPECT_EQ(bench.error(tiles_of(bench, kFp32, kFp32, {129, 1})),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_copy', operand 'src', architecture trn2)");
}

TEST(TensorCopy, CopiesPackedValuesAsTheyAreAndRefusesToConvertThem) {
  const Dtype packed = Dtype::kFloat8E4m3fnX4;
  InstructionBench bench;
  TensorCopy instruction = tiles_of(bench, packed, packed, {3, 5});
  std::vector<uint32_t> words(15);
  for (uint32_t i = 0; i < 15; ++i) words[i] = 0x7f80ff01U + i * 0x01020304U;
  bench.set_bits(instruction.src, words);
  bench.run(instruction);
  EXPECT_EQ(bench.bits(instruction.dst), words);
  EXPECT_EQ(bench.error(tiles_of(bench, packed, kFp32, {3, 5})),
            "dtype float8_e4m3fn_x4 of operand 'src' of 'tensor_copy' is not supported; expected a "
            "dtype with one value per element.");
}

TEST(TensorCopy, DemandsTheRateClassOfItsOperands) {
  auto rate = [](Dtype source, Dtype target, MemoryKind from, MemoryKind to,
                 EngineKind engine = EngineKind::kVector) {
    InstructionBench bench;
    TensorCopy instruction = tiles_of(bench, source, target, {2, 16}, from, to);
    instruction.engine = engine;
    return bench.demand(instruction).steps[0].rate;
  };
  EXPECT_EQ(rate(kFp32, kFp32, kSbuf, kSbuf), RateClass::kOneInput);
  EXPECT_EQ(rate(kBf16, kBf16, kSbuf, kSbuf), RateClass::kCopy16bit);
  EXPECT_EQ(rate(kBf16, Dtype::kFloat16, kSbuf, kSbuf), RateClass::kCopy16bit);
  EXPECT_EQ(rate(kBf16, kBf16, kPsum, kSbuf), RateClass::kCopy16bitMixed);
  EXPECT_EQ(rate(kBf16, kBf16, kSbuf, kPsum), RateClass::kCopy16bitMixed);
  EXPECT_EQ(rate(kBf16, kBf16, kPsum, kPsum), RateClass::kOneInput);
  EXPECT_EQ(rate(kBf16, kFp32, kSbuf, kSbuf), RateClass::kOneInput);
  EXPECT_EQ(rate(kBf16, kBf16, kSbuf, kPsum, EngineKind::kScalar), RateClass::kScalar16bit);
  EXPECT_EQ(rate(Dtype::kFloat8E4m3, kBf16, kPsum, kSbuf, EngineKind::kScalar),
            RateClass::kScalar16bit);
  EXPECT_EQ(rate(kBf16, kFp32, kSbuf, kSbuf, EngineKind::kScalar), RateClass::kOneInput);
  EXPECT_EQ(rate(kFp32, kBf16, kSbuf, kSbuf, EngineKind::kScalar), RateClass::kOneInput);
  EXPECT_EQ(rate(kBf16, kBf16, kSbuf, kSbuf, EngineKind::kGpSimd), RateClass::kGpSimdOneInput);
  InstructionBench bench;
  TensorCopy strided{.dst = bench.tile(kSbuf, kBf16, {2, 8}, "dst"),
                     .src = bench.tile(kSbuf, kBf16, {2, 80}, "src").slice(1, 0, 8, 9)};
  Step step = bench.demand(strided).steps[0];
  EXPECT_EQ(step.rate, RateClass::kCopy16bitMixed);
  EXPECT_TRUE(step.strided);
}

}  // namespace
}  // namespace neuron_sim
