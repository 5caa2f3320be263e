#include "device/instruction/checks.h"

#include <functional>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

constexpr auto kHbm = MemoryKind::kHbm;
constexpr auto kSbuf = MemoryKind::kSbuf;
constexpr auto kPsum = MemoryKind::kPsum;
constexpr auto kF32 = Dtype::kFloat32;

std::string sentence(const std::function<void()>& check) {
  try {
    check();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(Checks, PartitionsAndElementsMustBeAtLeastOne) {
  InstructionBench bench;
  const Architecture architecture = test_architecture();
  View tile = bench.tile(kSbuf, kF32, {4, 4}, "x");
  EXPECT_EQ(sentence([&] { checks::partitions("f", "x", tile.slice(0, 0, 0), architecture); }),
            "number of partitions 0 of 'x[0, 4]' must be at least 1. (instruction 'f', operand "
            "'x', architecture trn2)");
  EXPECT_EQ(sentence([&] { checks::free_size("f", "x", tile.slice(1, 0, 0), architecture); }),
            "number of elements per partition 0 in 'x[4, 0]' of 'f' must be at least 1. "
            "(instruction 'f', operand 'x', architecture trn2)");
}

TEST(Checks, LimitsComeFromTheArchitecture) {
  Architecture small = test_architecture();
  small.name = "small";
  small.limits.partitions = 16;
  small.limits.free_dimensions = 1;
  small.limits.vector_psum_elements = 8;
  InstructionBench bench;
  EXPECT_EQ(sentence([&] {
              checks::partitions("f", "x", bench.tile(kSbuf, kF32, {17, 1}, "x"), small);
            }),
            "number of partitions 17 exceed architecture limitation of 16. (instruction 'f', "
            "operand 'x', architecture small)");
  EXPECT_EQ(sentence([&] {
              checks::free_size("transpose", "x", bench.tile(kSbuf, kF32, {4, 2, 2}, "x"), small);
            }),
            "parameter 'x[4, 2, 2]' of 'transpose' exceed max supported number of dimensions of "
            "2. (instruction 'transpose', operand 'x', architecture small)");
  EXPECT_EQ(sentence([&] {
              checks::free_size("f", "x", bench.tile(kPsum, kF32, {4, 9}, "x"), small);
            }),
            "number of elements per partition 9 in 'x[4, 9]' of 'f' exceed architecture limitation "
            "of 8 in psum. (instruction 'f', operand 'x', architecture small)");
  EXPECT_EQ(sentence([&] {
              checks::free_size("f", "x", bench.tile(kPsum, kF32, {4, 8}, "x"), small);
            }),
            "");
}

TEST(Checks, MemoryNamesTheAllowedAddressSpaces) {
  InstructionBench bench;
  View sbuf = bench.tile(kSbuf, kF32, {2, 2}, "x");
  View hbm = bench.tile(kHbm, kF32, {2, 2}, "x");
  EXPECT_EQ(sentence([&] { checks::memory("load", "src", sbuf, {kHbm}); }),
            "Expected operand 'src' of 'load' to be in address space 'hbm', but got a tile in "
            "'sbuf' instead.");
  EXPECT_EQ(sentence([&] {
              checks::memory("exp", "x", hbm, {kPsum, kSbuf});
            }),
            "Expected operand 'x' of 'exp' to be in address space 'psum|sbuf', but got a tile in "
            "'hbm' instead.");
  EXPECT_EQ(sentence([&] {
              checks::memory("exp", "x", View(), {kPsum, kSbuf});
            }),
            "Expected operand 'x' of 'exp' to be in address space 'psum|sbuf', but it is missing.");
  EXPECT_EQ(sentence([&] { checks::memory("load", "src", hbm, {kHbm}); }), "");
}

TEST(Checks, StartPartitionsAreQuadrantsHalvesOrZero) {
  const Architecture architecture = test_architecture();
  InstructionBench bench;
  View tile = bench.tile(kSbuf, kF32, {128, 1}, "x");
  auto error = [&](int64_t start, int64_t count) {
    return sentence(
        [&] { checks::start_partition("f", "x", tile.slice(0, start, count), architecture); });
  };
  for (int64_t start : {0, 32, 64, 96}) EXPECT_EQ(error(start, 32), "");
  for (int64_t start : {0, 64}) EXPECT_EQ(error(start, 64), "");
  EXPECT_EQ(error(0, 65), "");
  EXPECT_EQ(error(0, 128), "");
  EXPECT_EQ(error(96, 1), "");
  EXPECT_EQ(error(16, 32),
            "start partition 16 of 32 partitions must be a multiple of 32 within 128 partitions. "
            "(instruction 'f', operand 'x', architecture trn2)");
  EXPECT_EQ(error(32, 33),
            "start partition 32 of 33 partitions must be a multiple of 64 within 128 partitions. "
            "(instruction 'f', operand 'x', architecture trn2)");
  EXPECT_EQ(error(32, 65),
            "start partition 32 of 65 partitions must be a multiple of 128 within 128 partitions. "
            "(instruction 'f', operand 'x', architecture trn2)");
  EXPECT_NE(error(1, 1), "");
}

TEST(Checks, AStartPartitionThatVariesIsLeftToRunTime) {
  InstructionBench bench;
  View tile = bench.tile(kSbuf, kF32, {128, 1}, "x").slice(0, Affine::variable(0), 1);
  EXPECT_EQ(sentence([&] { checks::start_partition("f", "x", tile, test_architecture()); }), "");
}

TEST(Checks, EnginesAreListedInTheError) {
  const Architecture architecture = test_architecture();
  EXPECT_EQ(sentence([&] {
              checks::engine("f", EngineKind::kSync, {EngineKind::kVector, EngineKind::kScalar},
                             architecture);
            }),
            "instruction 'f' cannot run on the Sync engine; architecture trn2 has it on: Vector, "
            "Scalar.");
  EXPECT_EQ(sentence([&] {
              checks::engine("f", EngineKind::kScalar, {EngineKind::kScalar}, architecture);
            }),
            "");
}

TEST(Checks, DtypeErrorsAreTypeErrors) {
  InstructionBench bench;
  View x = bench.tile(kSbuf, Dtype::kInt16, {2, 2}, "x");
  try {
    checks::dtype_error("max8", "data", x, "float32 or bfloat16");
    FAIL();
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kType);
    EXPECT_STREQ(error.what(),
                 "dtype int16 of operand 'data' of 'max8' is not supported; expected float32 or "
                 "bfloat16.");
  }
}

}  // namespace
}  // namespace neuron_sim
