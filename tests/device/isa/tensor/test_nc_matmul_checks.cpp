#include <gtest/gtest.h>

#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

struct Shape {
  int64_t depth, columns, elements;
};

NcMatmul make(InstructionBench& bench, const Shape& shape, Dtype stationary = kFp32,
              Dtype moving = kFp32) {
  const auto [depth, columns, elements] = shape;
  NcMatmul matmul;
  matmul.stationary = bench.tile(kSbuf, stationary, {depth, columns}, "stationary");
  matmul.moving = bench.tile(kSbuf, moving, {depth, elements}, "moving");
  matmul.dst = bench.tile(kPsum, kFp32, {columns, elements}, "dst");
  return matmul;
}

TEST(NcMatmulChecks, ReportsSizesBeyondTheLimits) {
  InstructionBench bench;
  const auto error = [&](const Shape& shape) { return bench.error(make(bench, shape)); };
  EXPECT_EQ(error({128, 128, 512}), "");
  EXPECT_EQ(error({128, 129, 512}),
            "size of dimension 1 in 'stationary[128, 129]' of 'nc_matmul' exceed architecture "
            "limitation of 128. (architecture trn2)");
  EXPECT_EQ(error({129, 128, 512}),
            "size of dimension 0 in 'stationary[129, 128]' of 'nc_matmul' exceed architecture "
            "limitation of 128. (architecture trn2)");
  EXPECT_EQ(error({128, 128, 513}),
            "size of dimension 1 in 'moving[128, 513]' of 'nc_matmul' exceed architecture "
            "limitation of 512. (architecture trn2)");
  NcMatmul matmul = make(bench, {128, 128, 512});
  matmul.moving = bench.tile(kSbuf, kFp32, {128, 19, 27}, "image");
  EXPECT_EQ(bench.error(matmul),
            "number of elements per partition 513 in 'moving[128, 19, 27]' of 'nc_matmul' exceed "
            "architecture limitation of 512. (architecture trn2)");
  bench.architecture().limits.psum_bank = {2044};
  bench.architecture().limits.moving_free = 511;
  EXPECT_EQ(error({128, 128, 511}), "");
  bench.architecture().limits.psum_banks = 1;
  bench.architecture().limits.moving_free = 512;
  EXPECT_EQ(
      error({128, 128, 512}),
      "operand 'dst' of 'nc_matmul' needs 2048 bytes per partition, which exceed architecture "
      "limitation of 2044. (architecture trn2)");
}

TEST(NcMatmulChecks, ReportsWrongShapesMemoriesAndDtypes) {
  InstructionBench bench;
  const NcMatmul good = make(bench, {8, 8, 8});
  const auto tile = [&](MemoryKind memory, Dtype dtype, std::vector<int64_t> shape) {
    return bench.tile(memory, dtype, std::move(shape), "t");
  };
  NcMatmul matmul = good;
  matmul.moving = tile(kSbuf, kFp32, {7, 8});
  EXPECT_EQ(bench.error(matmul),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters "
            "(stationary[8, 8], moving[7, 8]) of 'nc_matmul'");
  matmul = good;
  matmul.dst = tile(kPsum, kFp32, {7, 8});
  EXPECT_EQ(
      bench.error(matmul),
      "operand 'dst' of 'nc_matmul' has 7 partitions, but operand 'stationary' has 8 elements "
      "per partition.");
  matmul.dst = tile(kSbuf, kFp32, {8, 8});
  EXPECT_EQ(
      bench.error(matmul),
      "Expected operand 'dst' of 'nc_matmul' to be in address space 'psum', but got a tile in "
      "'sbuf' instead.");
  matmul = good;
  matmul.stationary = tile(kPsum, kFp32, {8, 8});
  EXPECT_EQ(bench.error(matmul),
            "Expected operand 'stationary' of 'nc_matmul' to be in address space 'sbuf', but got a "
            "tile in 'psum' instead.");
  matmul.stationary = tile(kSbuf, Dtype::kInt8, {8, 8});
  EXPECT_EQ(bench.error(matmul),
            "dtype int8 of operand 'stationary' of 'nc_matmul' is not supported; expected "
            "float8_e4m3, float8_e5m2, float16, bfloat16, tfloat32 or float32.");
  EXPECT_EQ(bench.error_kind(matmul), ErrorKind::kType);
  matmul.stationary = tile(kSbuf, kBf16, {8, 8});
  EXPECT_EQ(
      bench.error(matmul),
      "dtypes bfloat16 of operand 'stationary' and float32 of operand 'moving' of 'nc_matmul' "
      "cannot be mixed; float32 and tfloat32 need the other to be float32 or tfloat32.");
  matmul = good;
  matmul.dst = tile(kPsum, kBf16, {8, 8});
  EXPECT_EQ(bench.error(matmul),
            "dtype bfloat16 of operand 'dst' of 'nc_matmul' is not supported; expected float32.");
  matmul.is_transpose = true;
  EXPECT_EQ(
      bench.error(matmul),
      "dtype bfloat16 of operand 'dst' of 'nc_matmul' is not supported; expected float32, the "
      "dtype of 'stationary', because is_transpose is set.");
  matmul = good;
  matmul.is_transpose = true;
  matmul.accumulate = true;
  EXPECT_EQ(bench.error(matmul), "'nc_matmul' with is_transpose moves bits and cannot accumulate.");
}

TEST(NcMatmulChecks, DemandsToLoadStationaryAndToMultiplyMoving) {
  InstructionBench bench;
  const Demand demand = bench.demand(make(bench, {128, 100, 222}));
  ASSERT_EQ(demand.count, 2);
  EXPECT_EQ(demand.steps[0].unit, Unit::kLoadStationary);
  EXPECT_EQ(demand.steps[0].elements, 100);
  EXPECT_EQ(demand.steps[0].matmul, MatmulClass::kFp32);
  EXPECT_FALSE(demand.steps[0].strided);
  EXPECT_EQ(demand.steps[1].unit, Unit::kMultiplyMoving);
  EXPECT_EQ(demand.steps[1].elements, 222);
  NcMatmul narrow = make(bench, {128, 100, 222}, kBf16, Dtype::kFloat8E4m3);
  for (const int64_t stride : {8, 9}) {  // 16 and 18 bytes
    narrow.stationary = bench.tile(kSbuf, kBf16, {128, 100, stride}, "w").select(2, 0);
    const Step step = bench.demand(narrow).steps[0];
    EXPECT_EQ(step.strided, stride == 9);
    EXPECT_EQ(step.matmul, MatmulClass::k16bit);
  }
}

}  // namespace
}  // namespace neuron_sim
