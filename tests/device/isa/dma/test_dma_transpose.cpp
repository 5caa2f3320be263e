#include "device/isa/dma/dma_transpose.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/dma/dma_transfer.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

void fill_with_patterns(InstructionBench& bench, const View& view) {
  std::vector<uint32_t> values;
  for (int64_t i = 0; i < element_count(view); ++i) {
    values.push_back(static_cast<uint32_t>(i + 1) * 2654435761U);
  }
  bench.set_bits(view, values);
}

/// Row-major bits with the first and the last dimension exchanged.
std::vector<uint32_t> transposed(const std::vector<uint32_t>& values,
                                 const std::vector<int64_t>& shape) {
  const int64_t rows = shape.front(), columns = shape.back();
  const int64_t middle = static_cast<int64_t>(values.size()) / (rows * columns);
  std::vector<uint32_t> result;
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t m = 0; m < middle; ++m)
      for (int64_t r = 0; r < rows; ++r)
        result.push_back(values[static_cast<size_t>((r * middle + m) * columns + c)]);
  return result;
}

void expect_transposed(InstructionBench& bench, const View& dst, const View& src) {
  fill_with_patterns(bench, src);
  bench.run(DmaTranspose{.dst = dst, .src = src});
  EXPECT_EQ(bench.bits(dst), transposed(bench.bits(src), src.shape()))
      << dst.describe() << " from " << src.describe();
}

std::vector<int64_t> exchanged(std::vector<int64_t> shape) {
  std::swap(shape.front(), shape.back());
  return shape;
}

TEST(DmaTranspose, MovesBitsOfEveryDtypeRankAndMemory) {
  const std::vector<std::vector<int64_t>> shapes = {{1, 1},       {16, 128},      {77, 33},
                                                    {128, 1},     {5, 3, 40},     {128, 1, 128},
                                                    {2, 3, 5, 7}, {16, 1, 4, 128}};
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kUint8, Dtype::kInt32, Dtype::kFloat16}) {
    for (const MemoryKind from : {kHbm, kSbuf}) {
      for (const std::vector<int64_t>& shape : shapes) {
        InstructionBench bench;
        expect_transposed(bench, bench.tile(kSbuf, dtype, exchanged(shape), "dst"),
                          bench.tile(from, dtype, shape, "src"));
      }
    }
  }
}

TEST(DmaTranspose, TakesLongHbmTensorsAndAccessPatterns) {
  InstructionBench bench;
  const View tensor = bench.tile(kHbm, kBf16, {512, 300}, "tensor");
  expect_transposed(bench, bench.tile(kSbuf, kBf16, {128, 512}, "dst"), tensor.slice(1, 5, 128));
  expect_transposed(
      bench, bench.tile(kSbuf, kBf16, {128, 600}, "wide").slice(1, 3, 170, 2).slice(0, 96, 20),
      tensor.slice(0, 1, 170, 3).slice(1, 0, 20, 4));
  expect_transposed(bench, bench.tile(kSbuf, kBf16, {70, 9}, "rows"),
                    bench.tile(kHbm, kBf16, {1, 70}, "row").broadcast(0, 9));
}

TEST(DmaTranspose, GathersRowsDownThePartitionsOfEachIndexColumn) {
  InstructionBench bench;
  const int64_t rows = 256, columns = 24;
  const View table = bench.tile(kHbm, kBf16, {300, columns}, "table");
  fill_with_patterns(bench, table);
  const View index = bench.tile(kSbuf, Dtype::kUint32, {128, 3}, "index");
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < 384; ++i) numbers.push_back(i * 37 % 300);
  bench.set_bits(index, numbers);
  const View dst = bench.tile(kSbuf, kBf16, {columns, rows}, "dst");
  bench.run(DmaTranspose{.dst = dst, .src = table.slice(0, 0, rows).indirect(300), .index = index});
  const std::vector<uint32_t> all = bench.bits(table), result = bench.bits(dst);
  for (int64_t p = 0; p < rows; ++p) {
    const uint32_t row = numbers[static_cast<size_t>(p % 128 * 3 + p / 128)];
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(result[static_cast<size_t>(c * rows + p)],
                all[static_cast<size_t>(row * columns + c)])
          << p << " " << c;
    }
  }
}

TEST(DmaTranspose, GathersThreeAndFourDimensions) {
  for (const std::vector<int64_t>& middle :
       std::vector<std::vector<int64_t>>{{3}, {1, 5}, {4, 1}}) {
    InstructionBench bench;
    std::vector<int64_t> shape = {16};
    shape.insert(shape.end(), middle.begin(), middle.end());
    shape.push_back(6);
    const View table = bench.tile(kHbm, kBf16, shape, "table");
    fill_with_patterns(bench, table);
    const View index = bench.tile(kSbuf, Dtype::kUint32, {16, 1}, "index");
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < 16; ++i) numbers.push_back(15 - i);
    bench.set_bits(index, numbers);
    const View dst = bench.tile(kSbuf, kBf16, exchanged(shape), "dst");
    bench.run(DmaTranspose{.dst = dst, .src = table.indirect(16), .index = index});
    std::vector<uint32_t> gathered;
    const std::vector<uint32_t> all = bench.bits(table);
    const size_t row = all.size() / 16;
    for (size_t p = 0; p < 16; ++p) {
      const auto from = all.begin() + static_cast<int64_t>((15 - p) * row);
      gathered.insert(gathered.end(), from, from + static_cast<int64_t>(row));
    }
    EXPECT_EQ(bench.bits(dst), transposed(gathered, shape));
  }
}

/// out[6, 256] = table[index.T.flatten()[:256]].T through a Program.
std::shared_ptr<const Program> gather_program(bool skip) {
  Builder builder("gather", load_architecture("trn2"));
  const View table = builder.argument("table", {256, 6}, kBf16);
  const View numbers = builder.argument("numbers", {128, 2}, Dtype::kUint32);
  const View out = builder.argument("out", {6, 256}, kBf16);
  const View index = builder.sbuf("index", {128, 2}, Dtype::kUint32);
  const View dst = builder.sbuf("dst", {6, 256}, kBf16);
  builder.emit(DmaCopy{.dst = index, .src = numbers});
  builder.emit(
      DmaTranspose{.dst = dst, .src = table.indirect(50), .index = index, .oob_skip = skip});
  builder.emit(DmaCopy{.dst = out, .src = dst});
  return builder.finish();
}

TEST(DmaTranspose, ChecksIndicesWhenItRuns) {
  ThreadPool pool(2);
  for (const bool skip : {false, true}) {
    ProgramRun run(gather_program(skip));
    run.randomise(3);
    for (int64_t i = 0; i < 256; ++i) run.data<uint32_t>(1)[i] = static_cast<uint32_t>(i % 50);
    run.data<uint32_t>(1)[9] = 50;  // partition 4, column 1: row 132
    const ExecutionPlan plan = make_plan(run.program());
    if (!skip) {
      try {
        run.execute(plan, pool);
        FAIL() << "no error";
      } catch (const KernelError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kIndex);
        EXPECT_STREQ(error.what(),
                     "Out-of-bound access for tensor `table` on dimension 0: index 50 of partition "
                     "132 exceed dimension size of 50 (instruction 'dma_transpose').");
      }
      continue;
    }
    const ControlLog log = run.execute(plan, pool);
    EXPECT_EQ(log.values, std::vector<int64_t>{255});
    for (int64_t p = 0; p < 256; ++p) {
      const uint32_t row = run.data<uint32_t>(1)[p % 128 * 2 + p / 128];
      for (int64_t c = 0; c < 6; ++c) {
        const uint16_t expected = row == 50 ? 0x7fc0 : run.data<uint16_t>(0)[row * 6 + c];
        EXPECT_EQ(run.data<uint16_t>(2)[c * 256 + p], expected) << p << " " << c;
      }
    }
  }
}

}  // namespace
}  // namespace neuron_sim
