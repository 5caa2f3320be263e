#include "device/isa/dma/dma_compute.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

/// fp32 additions from the first source to the last, rounded once to `dtype`.
std::vector<double> sum_of(InstructionBench& bench, const std::vector<View>& srcs, Dtype dtype) {
  std::vector<double> sum;
  for (const View& src : srcs) {
    const std::vector<double> values = bench.get(src);
    if (sum.empty()) sum.assign(values.size(), -0.0);
    for (size_t i = 0; i < values.size(); ++i) sum[i] = round_to(kFp32, sum[i] + values[i]);
  }
  for (double& value : sum) value = round_to(dtype, value);
  return sum;
}

TEST(DmaCompute, AddsOneToSixteenSourcesInOrder) {
  for (const size_t count : {1, 2, 3, 16}) {
    for (const Dtype dtype : {kFp32, kBf16, Dtype::kInt8}) {
      InstructionBench bench;
      DmaCompute compute;
      for (size_t i = 0; i < count; ++i) {
        const Dtype from =
            std::vector<Dtype>{kFp32, kBf16, Dtype::kInt32, Dtype::kFloat8E4m3}[i % 4];
        std::vector<double> values = random_values(7 * 33, -9, 9, static_cast<unsigned>(i));
        compute.srcs.push_back(bench.tile(i % 2 ? kSbuf : kHbm, from, {7, 33}, "src", values));
      }
      compute.scales.assign(count, 1.0);
      for (const MemoryKind to : {kHbm, kSbuf}) {
        compute.dst = bench.tile(to, dtype, {7, 33}, "dst");
        bench.run(compute);
        expect_values(bench.get(compute.dst), sum_of(bench, compute.srcs, dtype));
      }
    }
  }
}

TEST(DmaCompute, MatchesShapesInRowMajorOrderAndSpreadsNan) {
  InstructionBench bench;
  const View a =
      bench.tile(kHbm, kFp32, {12}, "a", {1, 2, NAN, INFINITY, 5, 6, 7, 8, 9, 10, 11, 12});
  const View b = bench.tile(kSbuf, kFp32, {3, 9}, "b", random_values(27)).slice(1, 0, 4, 2);
  const View c = bench.tile(kHbm, kBf16, {1}, "c", {-INFINITY}).broadcast(0, 12);
  const View dst = bench.tile(kHbm, kFp32, {2, 6}, "dst");
  const DmaCompute compute{.dst = dst, .srcs = {a, b, c}};
  bench.run(compute);
  expect_values(bench.get(dst), sum_of(bench, compute.srcs, kFp32));
}

TEST(DmaCompute, ScattersIntoIndexedRowsOfHbm) {
  InstructionBench bench;
  const View table = bench.tile(kHbm, kBf16, {9, 5}, "table", random_values(45));
  const std::vector<double> before = bench.get(table);
  const View rows = table.slice(0, 0, 3).indirect(9);
  const View data = bench.tile(kSbuf, kFp32, {3, 5}, "data", random_values(15, -2, 2, 8));
  const View index = bench.tile(kSbuf, Dtype::kInt32, {3, 1}, "index", {7, -1, 2});
  for (const bool data_first : {false, true}) {
    bench.set(table, before);
    DmaCompute compute{.dst = rows, .srcs = {rows, data}, .oob_skip = true, .index = index};
    if (data_first) std::swap(compute.srcs[0], compute.srcs[1]);
    bench.run(compute);
    std::vector<double> expected = before;
    const std::vector<double> added = bench.get(data);
    for (size_t i = 0; i < 5; ++i) {
      expected[35 + i] = round_to(kBf16, round_to(kFp32, expected[35 + i] + added[i]));
      expected[10 + i] = round_to(kBf16, round_to(kFp32, expected[10 + i] + added[10 + i]));
    }
    expect_values(bench.get(table), expected);
  }
}

TEST(DmaCompute, GathersIndexedRowsOfHbm) {
  InstructionBench bench;
  const View table = bench.tile(kHbm, kFp32, {6, 4}, "table", random_values(24));
  const View dst = bench.tile(kSbuf, kFp32, {3, 4}, "dst", random_values(12, -2, 2, 8));
  const std::vector<double> before = bench.get(dst), rows = bench.get(table);
  const View index = bench.tile(kSbuf, Dtype::kUint32, {3, 1}, "index", {5, 5, 0});  // twice: read
  bench.run(
      DmaCompute{.dst = dst, .srcs = {dst, table.slice(0, 0, 3).indirect(6)}, .index = index});
  std::vector<double> expected;
  for (size_t i = 0; i < 12; ++i) {
    const size_t row = i / 4 == 2 ? 0 : 5;
    expected.push_back(round_to(kFp32, before[i] + rows[row * 4 + i % 4]));
  }
  expect_values(bench.get(dst), expected);
}

/// A scatter through a Program: table[numbers] += data.
std::shared_ptr<const Program> scatter_program(bool skip) {
  Builder builder("scatter", load_architecture("trn2"));
  const View table = builder.argument("table", {40, 3}, kFp32);
  const View numbers = builder.argument("numbers", {16, 1}, Dtype::kInt32);
  const View values = builder.argument("values", {16, 3}, kFp32);
  const View index = builder.sbuf("index", {16, 1}, Dtype::kInt32);
  const View data = builder.sbuf("data", {16, 3}, kFp32);
  builder.emit(DmaCopy{.dst = index, .src = numbers});
  builder.emit(DmaCopy{.dst = data, .src = values});
  const View rows = table.slice(0, 0, 16).indirect(40);
  builder.emit(DmaCompute{.dst = rows, .srcs = {rows, data}, .oob_skip = skip, .index = index});
  return builder.finish();
}

TEST(DmaCompute, ChecksDuplicatesAndBoundsBeforeItWrites) {
  ThreadPool pool(1);
  const auto run_with = [&](int32_t twelfth, bool skip, std::string& error) {
    ProgramRun run(scatter_program(skip));
    run.randomise(5);
    for (int32_t i = 0; i < 16; ++i) run.data<int32_t>(1)[i] = i == 12 ? twelfth : 2 * i;
    const std::vector<std::byte> before = run.bytes()[0];
    try {
      const ControlLog log = run.execute(make_plan(run.program()), pool);
      EXPECT_EQ(log.values, std::vector<int64_t>{twelfth >= 40 ? 15 : 16});
    } catch (const KernelError& failure) {
      error = failure.what();
      EXPECT_TRUE(run.bytes()[0] == before);
    }
  };
  std::string error;
  run_with(24, false, error);
  EXPECT_EQ(error, "");
  run_with(6, false, error);
  EXPECT_EQ(error,
            "'dma_compute' adds to row 6 for the indices of partitions 3 and 12, but "
            "unique_indices is True.");
  run_with(40, false, error);
  EXPECT_EQ(error,
            "Out-of-bound access for tensor `table` on dimension 0: index 40 of partition 12 "
            "exceed dimension size of 40 (instruction 'dma_compute').");
  error.clear();
  run_with(40, true, error);
  EXPECT_EQ(error, "");
}

TEST(DmaComputeChecks, ReportsSourcesScalesAndOperators) {
  InstructionBench bench;
  const View dst = bench.tile(kSbuf, kFp32, {4, 8}, "dst");
  const View src = bench.tile(kHbm, kFp32, {4, 8}, "src");
  const auto error = [&](const DmaCompute& compute) {
    try {
      return bench.error(compute);
    } catch (const KernelError& failure) {
      return std::string(failure.what());
    }
  };
  EXPECT_EQ(error({.dst = dst, .srcs = {}}), "'dma_compute' has 0 sources, but must have 1 to 16.");
  EXPECT_EQ(error({.dst = dst, .srcs = std::vector<View>(16, src)}), "");
  EXPECT_EQ(error({.dst = dst, .srcs = std::vector<View>(17, src)}),
            "'dma_compute' has 17 sources, but must have 1 to 16.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src, src}, .scales = {1}}),
            "'dma_compute' has 1 scales for 2 sources.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src, src}, .scales = {1, 0.5}}),
            "scale 0.5 of 'dma_compute' is not supported; all scales must be 1.0.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src}, .reduce_op = AluOp::kMultiply}),
            "reduce_op multiply of 'dma_compute' is not supported; expected add.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src, src.slice(1, 0, 7)}}),
            "'dma_compute' needs equal element counts, but dst dst[4, 8] has 32 and src1 src[4, 7] "
            "has 28.");
  EXPECT_EQ(error({.dst = dst, .srcs = {bench.tile(kPsum, kFp32, {4, 8}, "sum")}}),
            "Expected operand 'src0' of 'dma_compute' to be in address space 'hbm|sbuf', but got a "
            "tile in 'psum' instead.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src.at_register(3, 4)}}),
            "operand 'src0' of 'dma_compute' is src[4, 8] at an address in a register; addresses "
            "must be known at compile time.");
  EXPECT_EQ(error({.dst = dst, .srcs = {src}, .oob_skip = true}),
            "'dma_compute' skips rows out of bounds only with an index.");
  EXPECT_EQ(
      error({.dst = bench.tile(kSbuf, Dtype::kFloat8E5m2X4, {4, 8}, "packed"), .srcs = {src}}),
      "dtype float8_e5m2_x4 of operand 'dst' of 'dma_compute' is not supported; expected a "
      "dtype that is not packed.");
}

TEST(DmaComputeChecks, ReportsWrongReadModifyWrites) {
  InstructionBench bench;
  const View rows = bench.tile(kHbm, kFp32, {4, 8}, "table").indirect(4);
  const View data = bench.tile(kSbuf, kFp32, {4, 8}, "data");
  const View index = bench.tile(kSbuf, Dtype::kInt32, {4, 1}, "index");
  const auto error = [&](DmaCompute compute) { return bench.error(compute); };
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data}, .index = index}), "");
  EXPECT_EQ(error({.dst = data, .srcs = {rows, data}, .index = index}), "");
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data}}),
            "'dma_compute' needs operand 'index' together with an indirect operand.");
  EXPECT_EQ(error({.dst = data, .srcs = {data, data}, .index = index}),
            "'dma_compute' needs operand 'index' together with an indirect operand.");
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data, data}, .index = index}),
            "'dma_compute' with an index needs exactly 2 sources, not 3.");
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data}, .unique_indices = false, .index = index}),
            "'dma_compute' with an index needs unique_indices to be True.");
  const std::string rest =
      ", and another in SBUF (dst is indirect) or indirect in HBM (dst is in SBUF).";
  EXPECT_EQ(error({.dst = rows, .srcs = {data, data}, .index = index}),
            "'dma_compute' with an index needs one source that matches dst table[4, 8]" + rest);
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, rows}, .index = index}),
            "'dma_compute' with an index needs one source that matches dst table[4, 8]" + rest);
  EXPECT_EQ(
      error(
          {.dst = rows, .srcs = {rows, data}, .index = bench.tile(kSbuf, kFp32, {4, 1}, "index")}),
      "dtype float32 of operand 'index' of 'dma_compute' is not supported; expected int32 or "
      "uint32.");
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data}, .index = index.slice(0, 0, 3)}),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (index[3, "
            "1], dst[4, 8]) of 'dma_compute'");
  EXPECT_EQ(error({.dst = rows, .srcs = {rows, data}, .index = index, .engine = EngineKind::kSync}),
            "'dma_compute' to table[4, 8] on engine Sync of architecture trn2: software "
            "descriptors need engine GpSimd.");
}

TEST(DmaComputeDemand, ReadsTheBytesOfEverySource) {
  InstructionBench bench;
  bench.architecture().dma.engines = 16;
  const View dst = bench.tile(kSbuf, kFp32, {128, 64}, "dst");
  const View src = bench.tile(kHbm, kFp32, {128, 64}, "src");
  const Draft draft = bench.prepare(DmaCompute{.dst = dst, .srcs = {src, src, dst}});
  EXPECT_EQ(draft.engine, EngineKind::kSync);
  const Step step = kDmaCompute.demand(draft, bench.architecture()).steps[0];
  EXPECT_EQ(step.transfer, TransferClass::kCopy);
  EXPECT_EQ(step.descriptors, DescriptorKind::kStatic);
  EXPECT_EQ(step.elements, 3 * 128);
  EXPECT_EQ(step.bytes, 256);
  const View rows = src.indirect(128), index = bench.tile(kSbuf, Dtype::kInt32, {128, 1}, "index");
  const Draft scatter = bench.prepare(DmaCompute{.dst = rows, .srcs = {rows, dst}, .index = index});
  EXPECT_EQ(scatter.engine, EngineKind::kGpSimd);
  EXPECT_EQ(kDmaCompute.demand(scatter, bench.architecture()).steps[0].descriptors,
            DescriptorKind::kSoftware);
}

}  // namespace
}  // namespace neuron_sim
