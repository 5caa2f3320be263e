#include <gtest/gtest.h>

#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

Architecture without_transpose_mode() {
  Architecture architecture = test_architecture();
  architecture.features.exact_transpose = false;
  return architecture;
}

std::vector<uint32_t> transposed(const std::vector<uint32_t>& values, size_t rows) {
  const size_t columns = values.size() / rows;
  std::vector<uint32_t> result;
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) result.push_back(values[row * columns + column]);
  }
  return result;
}

/// Every bit pattern of the dtype's width, NaN payloads included.
void fill_with_patterns(InstructionBench& bench, const View& view) {
  std::vector<uint32_t> values;
  for (int64_t i = 0; i < view.partitions() * view.free_elements(); ++i) {
    values.push_back(static_cast<uint32_t>(i) * 2654435761U);
  }
  bench.set_bits(view, values);
}

void expect_exact(InstructionBench& bench, const NcTranspose& transpose) {
  fill_with_patterns(bench, transpose.data);
  bench.run(transpose);
  EXPECT_EQ(
      bench.bits(transpose.dst),
      transposed(bench.bits(transpose.data), static_cast<size_t>(transpose.data.partitions())));
}

TEST(NcTranspose, MovesBitsOnTheTensorEngine) {
  for (const Dtype dtype : {kFp32, Dtype::kInt32, kBf16, Dtype::kFloat16, Dtype::kFloat8E5m2X4}) {
    for (const auto& [partitions, elements] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {128, 128}, {17, 33}, {128, 1}, {1, 128}, {100, 48}}) {
      SCOPED_TRACE(text(name(dtype), " ", partitions, " ", elements));
      InstructionBench bench;
      expect_exact(bench, {.dst = bench.tile(kPsum, dtype, {elements, partitions}, "dst"),
                           .data = bench.tile(kSbuf, dtype, {partitions, elements}, "x")});
    }
  }
}

TEST(NcTranspose, MovesBytesIntoPaddedElementsOnTheTensorEngine) {
  for (const Dtype dtype : {Dtype::kFloat8E4m3, Dtype::kUint8}) {
    for (const auto& [partitions, elements] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {128, 128}, {17, 33}}) {
      InstructionBench bench;
      const View data = bench.tile(kSbuf, dtype, {partitions, elements}, "x");
      expect_exact(
          bench, {.dst = bench.tile(kPsum, kBf16, {elements, partitions}, "padded"), .data = data});
      expect_exact(
          bench,
          {.dst = bench.tile(kPsum, dtype, {elements, partitions, 2}, "every_other").select(2, 0),
           .data = data});
      if (partitions == 1) continue;
      const NcTranspose dense{.dst = bench.tile(kPsum, dtype, {elements, partitions}, "dense"),
                              .data = data};
      EXPECT_EQ(bench.error(dense), text("operand 'dst' of 'nc_transpose' is dense[", elements,
                                         ", ", partitions, "] of ", name(dtype),
                                         ", but PSUM receives 16-bit elements with a zero upper "
                                         "byte; use a 2-byte dtype or every other byte."));
    }
  }
  InstructionBench bench;  // the Vector engine has no such rule
  expect_exact(bench, {.dst = bench.tile(kPsum, Dtype::kUint8, {9, 8}, "dense"),
                       .data = bench.tile(kSbuf, Dtype::kUint8, {8, 9}, "x"),
                       .engine = EngineKind::kVector});
}

TEST(NcTranspose, MovesBitsOnTheVectorEngineBetweenAnyMemories) {
  for (const MemoryKind from : {kSbuf, kPsum}) {
    for (const MemoryKind to : {kSbuf, kPsum}) {
      InstructionBench bench;
      expect_exact(bench, {.dst = bench.tile(to, Dtype::kFloat16, {31, 32}, "dst"),
                           .data = bench.tile(from, Dtype::kFloat16, {32, 31}, "x"),
                           .engine = EngineKind::kVector});
    }
  }
}

TEST(NcTranspose, FlattensFreeDimensionsOfBothSides) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kFp32, {64, 8, 20}, "x");
  const View dst = bench.tile(kPsum, kFp32, {128, 8, 9}, "dst");
  expect_exact(bench, {.dst = dst.slice(0, 64, 40).slice(2, 1, 8),
                       .data = wide.slice(2, 3, 5).slice(0, 0, 64)});
  expect_exact(bench, {.dst = dst.slice(0, 64, 40).slice(2, 1, 8),
                       .data = wide.slice(2, 3, 5).permute({0, 2, 1})});
}

TEST(NcTranspose, MultipliesByAnIdentityWithoutTransposeMode) {
  InstructionBench bench(without_transpose_mode());
  for (const Dtype dtype : {kFp32, kBf16}) {
    const NcTranspose transpose{.dst = bench.tile(kPsum, kFp32, {77, 100}, "dst"),
                                .data =
                                    bench.tile(kSbuf, dtype, {100, 77}, "x", random_values(7700))};
    bench.run(transpose);
    const std::vector<double> data = bench.get(transpose.data);
    std::vector<double> expected;
    for (size_t f = 0; f < 77; ++f) {
      for (size_t p = 0; p < 100; ++p) expected.push_back(data[p * 77 + f]);
    }
    expect_values(bench.get(transpose.dst), expected);
  }
}

TEST(NcTranspose, ProductWithAnIdentitySpreadsNonFiniteValues) {
  InstructionBench bench(without_transpose_mode());
  const NcTranspose transpose{
      .dst = bench.tile(kPsum, kFp32, {3, 3}, "dst"),
      .data = bench.tile(kSbuf, kFp32, {3, 3}, "x", {1, INFINITY, NAN, 2, 5, 8, 3, 6, -0.0})};
  bench.run(transpose);
  expect_values(bench.get(transpose.dst), {1, 2, 3, INFINITY, NAN, NAN, NAN, NAN, NAN});
}

TEST(NcTranspose, MultipliesSixteenBitFloatsIntoFp32) {
  InstructionBench bench;
  for (const Dtype dtype : {kBf16, Dtype::kFloat16}) {
    const NcTranspose transpose{.dst = bench.tile(kPsum, kFp32, {77, 100}, "dst"),
                                .data =
                                    bench.tile(kSbuf, dtype, {100, 77}, "x", random_values(7700))};
    bench.run(transpose);
    const std::vector<double> data = bench.get(transpose.data);
    std::vector<double> expected;
    for (size_t f = 0; f < 77; ++f) {
      for (size_t p = 0; p < 100; ++p) expected.push_back(data[p * 77 + f]);
    }
    expect_values(bench.get(transpose.dst), expected);
    const Demand demand = bench.demand(transpose);
    EXPECT_FALSE(demand.steps[1].transpose);
    EXPECT_EQ(demand.steps[1].matmul, MatmulClass::k16bit);
  }
  const NcTranspose integers{.dst = bench.tile(kPsum, kFp32, {8, 8}, "dst"),
                             .data = bench.tile(kSbuf, Dtype::kInt16, {8, 8}, "x")};
  EXPECT_EQ(bench.error(integers),
            "dtype float32 of operand 'dst' of 'nc_transpose' is not supported; expected int16, "
            "the dtype of 'data'.");
}

TEST(NcTranspose, ChoosesTheEngineFromShapeAndMemory) {
  InstructionBench bench;
  const auto engine = [&](MemoryKind to, MemoryKind from, int64_t partitions, int64_t elements) {
    const NcTranspose transpose{.dst = bench.tile(to, kFp32, {elements, partitions}, "dst"),
                                .data = bench.tile(from, kFp32, {partitions, elements}, "x")};
    return kNcTranspose.choose_engine(transpose.draft(), bench.architecture());
  };
  EXPECT_EQ(engine(kPsum, kSbuf, 32, 32), EngineKind::kTensor);
  EXPECT_EQ(engine(kSbuf, kSbuf, 32, 32), EngineKind::kVector);
  EXPECT_EQ(engine(kPsum, kPsum, 32, 32), EngineKind::kVector);
  EXPECT_EQ(engine(kSbuf, kSbuf, 33, 32), EngineKind::kTensor);
  EXPECT_EQ(engine(kSbuf, kSbuf, 32, 33), EngineKind::kTensor);
}

TEST(NcTranspose, ReportsWhatTheEnginesCannotDo) {
  InstructionBench bench;
  const auto error = [&](const std::vector<int64_t>& shape, EngineKind engine,
                         MemoryKind to = kPsum, Dtype dtype = kFp32) {
    return bench.error(NcTranspose{.dst = bench.tile(to, dtype, {shape[1], shape[0]}, "dst"),
                                   .data = bench.tile(kSbuf, kFp32, shape, "x"),
                                   .engine = engine});
  };
  EXPECT_EQ(error({128, 128}, EngineKind::kTensor), "");
  EXPECT_EQ(error({32, 32}, EngineKind::kVector), "");
  EXPECT_EQ(error({128, 129}, EngineKind::kTensor),
            "size of dimension 1 in 'data[128, 129]' of 'nc_transpose' exceed architecture "
            "limitation of 128. (architecture trn2)");
  EXPECT_EQ(error({33, 32}, EngineKind::kVector),
            "size of dimension 0 in 'data[33, 32]' of 'nc_transpose' exceed architecture "
            "limitation of 32. (architecture trn2)");
  EXPECT_EQ(
      error({64, 64}, EngineKind::kAuto, kSbuf),
      "Expected operand 'dst' of 'nc_transpose' to be in address space 'psum', but got a tile "
      "in 'sbuf' instead.");
  EXPECT_EQ(error({8, 8}, EngineKind::kScalar),
            "instruction 'nc_transpose' cannot run on the Scalar engine; architecture trn2 has it "
            "on: Tensor, Vector.");
  EXPECT_EQ(error({8, 8}, EngineKind::kTensor, kPsum, kBf16),
            "dtype bfloat16 of operand 'dst' of 'nc_transpose' is not supported; expected float32, "
            "the dtype of 'data'.");
  NcTranspose transpose{.dst = bench.tile(kPsum, kFp32, {8, 8}, "dst"),
                        .data = bench.tile(kSbuf, kFp32, {8, 7}, "x")};
  EXPECT_EQ(bench.error(transpose),
            "operand 'dst' of 'nc_transpose' is dst[8, 8], but the transpose of x[8, 7] has 7 "
            "partitions of 8 elements.");
  InstructionBench old(without_transpose_mode());
  transpose = {.dst = old.tile(kPsum, kFp32, {8, 8}, "dst"),
               .data = old.tile(kSbuf, Dtype::kInt32, {8, 8}, "x")};
  EXPECT_EQ(old.error(transpose),
            "dtype int32 of operand 'data' of 'nc_transpose' is not supported; expected a floating "
            "dtype, because the Tensor engine transposes by multiplying.");
  transpose.dst = old.tile(kPsum, kBf16, {8, 8}, "dst");
  transpose.data = old.tile(kSbuf, kBf16, {8, 8}, "x");
  EXPECT_EQ(
      old.error(transpose),
      "dtype bfloat16 of operand 'dst' of 'nc_transpose' is not supported; expected float32.");
}

TEST(NcTranspose, DemandsDataAsStationaryAndTheIdentityAsMoving) {
  InstructionBench bench;
  NcTranspose transpose{.dst = bench.tile(kPsum, kFp32, {50, 100}, "dst"),
                        .data = bench.tile(kSbuf, kFp32, {100, 50}, "x")};
  Demand demand = bench.demand(transpose);
  ASSERT_EQ(demand.count, 2);
  EXPECT_EQ(demand.steps[0].unit, Unit::kLoadStationary);
  EXPECT_EQ(demand.steps[0].elements, 50);
  EXPECT_EQ(demand.steps[1].unit, Unit::kMultiplyMoving);
  EXPECT_EQ(demand.steps[1].elements, 100);
  EXPECT_EQ(demand.steps[1].matmul, MatmulClass::kFp32Transpose);
  transpose = {.dst = bench.tile(kSbuf, kBf16, {20, 30}, "dst"),
               .data = bench.tile(kPsum, kBf16, {30, 20}, "x")};
  demand = bench.demand(transpose);
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kElementwise);
  EXPECT_EQ(demand.steps[0].elements, 20);
  EXPECT_TRUE(demand.steps[0].source_psum);
}

}  // namespace
}  // namespace neuron_sim
