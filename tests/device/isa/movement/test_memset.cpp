#include "device/isa/movement/memset.h"

#include <cmath>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TEST(Memset, FillsEveryPatternOfEveryDtypeAndNothingElse) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern pattern : target_patterns()) {
      for (double value : {0.0, 1.0}) {
        InstructionBench bench;
        Memset instruction{.dst = pattern_view(bench, pattern, dtype, "dst"), .value = value};
        bench.run(instruction);
        expect_values(bench.get(instruction.dst), std::vector<double>(kPatternValues, value));
      }
    }
  }
}

TEST(Memset, AFloatingValueRoundsToTheDtypeAndMayBeNanOrInfinite) {
  for (Dtype dtype : {kFp32, kBf16, Dtype::kFloat16, Dtype::kFloat8E5m2}) {
    for (double value : {1.1, -0.0, 1e6, -HUGE_VAL, std::nan("")}) {
      InstructionBench bench;
      Memset instruction{.dst = bench.tile(kSbuf, dtype, {128, 3}, "dst"), .value = value};
      bench.run(instruction);
      expect_values(bench.get(instruction.dst), std::vector<double>(384, stored(dtype, value)));
    }
  }
}

TEST(Memset, LargeIntegersAreExact) {
  InstructionBench bench;
  for (double value : {16777217.0, 4294967295.0}) {
    Memset instruction{.dst = bench.tile(kSbuf, Dtype::kUint32, {2, 2}, "dst"), .value = value};
    bench.run(instruction);
    expect_values(bench.get(instruction.dst), std::vector<double>(4, value));
  }
}

TEST(Memset, TheValueMustMatchAnIntegerDtype) {
  auto error = [](Dtype dtype, double value) {
    InstructionBench bench;
    Memset instruction{.dst = bench.tile(kSbuf, dtype, {2, 2}, "dst"), .value = value};
    return bench.error(instruction);
  };
  EXPECT_EQ(error(Dtype::kUint8, 255), "");
  EXPECT_EQ(error(Dtype::kInt8, -128), "");
  EXPECT_EQ(error(Dtype::kBool, 1), "");
  EXPECT_EQ(error(Dtype::kUint8, 256),
            "value 256 of 'memset' must match the dtype uint8 of operand 'dst': an integer in [0, "
            "255].");
  EXPECT_EQ(error(Dtype::kInt8, -129),
            "value -129 of 'memset' must match the dtype int8 of operand 'dst': an integer in "
            "[-128, 127].");
  EXPECT_EQ(error(Dtype::kBool, 2),
            "value 2 of 'memset' must match the dtype bool_ of operand 'dst': an integer in [0, "
            "1].");
  EXPECT_EQ(error(Dtype::kInt32, 0.5),
            "value 0.5 of 'memset' must match the dtype int32 of operand 'dst': an integer in "
            "[-2147483648, 2147483647].");
  EXPECT_NE(error(Dtype::kInt32, std::nan("")), "");
  EXPECT_NE(error(Dtype::kInt32, INFINITY), "");
}

TEST(Memset, EnginesMemoriesAndLimitsAreChecked) {
  InstructionBench bench;
  Memset instruction{.dst = bench.tile(kPsum, kFp32, {128, 4096}, "dst")};
  EXPECT_EQ(bench.prepare(instruction).engine, EngineKind::kVector);
  instruction.engine = EngineKind::kGpSimd;
  EXPECT_EQ(bench.error(instruction),
            "Expected operand 'dst' of 'memset' to be in address space 'sbuf', but got a tile in "
            "'psum' instead. The GpSimd engine cannot access PSUM.");
  instruction.engine = EngineKind::kScalar;
  EXPECT_EQ(bench.error(instruction),
            "instruction 'memset' cannot run on the Scalar engine; architecture trn2 has it on: "
            "Vector, GpSimd.");
  instruction = {.dst = bench.tile(kSbuf, kFp32, {129, 1}, "dst")};
  EXPECT_EQ(bench.error(instruction),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'memset', operand 'dst', architecture trn2)");
}

TEST(Memset, ZeroOf16BitFloatsHasItsOwnRate) {
  auto step = [](Dtype dtype, double value, EngineKind engine = EngineKind::kAuto) {
    InstructionBench bench;
    Memset instruction{
        .dst = bench.tile(kSbuf, dtype, {2, 9}, "dst"), .value = value, .engine = engine};
    return bench.demand(instruction).steps[0];
  };
  EXPECT_EQ(step(kBf16, 0).rate, RateClass::kMemset16bitZero);
  EXPECT_EQ(step(kBf16, 1).rate, RateClass::kOneInput);
  EXPECT_EQ(step(kFp32, 0).rate, RateClass::kOneInput);
  EXPECT_EQ(step(kFp32, 0).elements, 9);
  EXPECT_EQ(step(kBf16, 0, EngineKind::kGpSimd).rate, RateClass::kGpSimdOneInput);
  InstructionBench bench;
  Memset psum{.dst = bench.tile(kPsum, kFp32, {2, 9}, "dst")};
  EXPECT_FALSE(bench.demand(psum).steps[0].source_psum) << "there is no source";
}

TEST(Memset, ClearsPackedElementsAndWritesNothingElseIntoThem) {
  for (const Dtype dtype : {Dtype::kFloat8E4m3fnX4, Dtype::kFloat4E2m1fnX4}) {
    InstructionBench bench;
    const View dst = bench.tile(kSbuf, dtype, {5, 18}, "dst").slice(1, 1, 8, 2);
    bench.run(Memset{.dst = dst, .value = 0});
    EXPECT_EQ(bench.bits(dst), std::vector<uint32_t>(40, 0));
    EXPECT_EQ(bench.error(Memset{.dst = dst, .value = 1}),
              text("value 1 of 'memset' must be 0 for the packed dtype ", name(dtype),
                   " of operand 'dst'."));
  }
}

}  // namespace
}  // namespace neuron_sim
