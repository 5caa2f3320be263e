#include <gtest/gtest.h>

#include "device/isa/dma/dma_copy.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

void fill_with_patterns(InstructionBench& bench, const View& view) {
  std::vector<uint32_t> values;
  for (int64_t i = 0; i < view.partitions() * view.free_elements(); ++i) {
    values.push_back(static_cast<uint32_t>(i + 1) * 2654435761U);
  }
  bench.set_bits(view, values);
}

/// Row-major bits of both sides are equal after the copy.
void expect_copied(InstructionBench& bench, const View& dst, const View& src) {
  fill_with_patterns(bench, src);
  bench.run(DmaCopy{.dst = dst, .src = src});
  EXPECT_EQ(bench.bits(dst), bench.bits(src)) << dst.describe() << " from " << src.describe();
}

TEST(DmaCopy, CopiesBitsBetweenHbmAndSbuf) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kUint8, Dtype::kInt32, Dtype::kBool}) {
    for (const MemoryKind to : {kHbm, kSbuf}) {
      for (const MemoryKind from : {kHbm, kSbuf}) {
        for (const int64_t elements : {1, 33, 512}) {
          InstructionBench bench;
          expect_copied(bench, bench.tile(to, dtype, {128, elements}, "dst"),
                        bench.tile(from, dtype, {128, elements}, "src"));
        }
      }
    }
  }
}

TEST(DmaCopy, CopiesStridedSlicesAndPartitionsInPlace) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kBf16, {128, 6, 40}, "tile");
  const View image = bench.tile(kHbm, kBf16, {50, 8, 64}, "image");
  expect_copied(bench, tile.slice(0, 64, 50).slice(1, 1, 4).slice(2, 5, 20),
                image.slice(1, 0, 4, 2).slice(2, 1, 20, 3));
  expect_copied(bench, image.slice(0, 3, 20).slice(1, 2, 6).slice(2, 0, 40), tile.slice(0, 96, 20));
}

TEST(DmaCopy, TransposesOnTheWay) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kUint8}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 128}, {128, 128}, {300, 77}, {17, 16}}) {
      InstructionBench bench;
      const View tensor = bench.tile(kHbm, dtype, {rows, columns}, "tensor").permute({1, 0});
      expect_copied(bench, bench.tile(kSbuf, dtype, {columns, rows}, "dst"), tensor);
      expect_copied(bench, tensor, bench.tile(kSbuf, dtype, {columns, rows}, "src"));
    }
  }
}

TEST(DmaCopy, TransposesInnerDimensionsOfTensors) {
  InstructionBench bench;
  const View tensor = bench.tile(kHbm, kFp32, {3, 40, 5, 21}, "tensor");
  expect_copied(bench, bench.tile(kSbuf, kFp32, {21, 3, 5, 40}, "a"), tensor.permute({3, 0, 2, 1}));
  expect_copied(bench, bench.tile(kSbuf, kFp32, {40, 21, 3, 5}, "b"), tensor.permute({1, 3, 0, 2}));
  expect_copied(bench, tensor.permute({3, 2, 0, 1}), bench.tile(kHbm, kFp32, {21, 5, 3, 40}, "c"));
}

TEST(DmaCopy, MatchesDifferentShapesInRowMajorOrder) {
  InstructionBench bench;
  const View flat = bench.tile(kHbm, kFp32, {120 * 24}, "flat");
  const View tile = bench.tile(kSbuf, kFp32, {120, 24}, "tile");
  expect_copied(bench, tile, flat);
  expect_copied(bench, flat, tile);
  expect_copied(bench, bench.tile(kSbuf, kFp32, {60, 48}, "other"), tile);
  const View rows_of_4 = bench.tile(kHbm, kFp32, {6, 5}, "four").slice(1, 0, 4);
  const View rows_of_6 = bench.tile(kHbm, kFp32, {4, 7}, "six").slice(1, 1, 6);
  expect_copied(bench, rows_of_6, rows_of_4);
}

TEST(DmaCopy, RepeatsABroadcastSource) {
  InstructionBench bench;
  const View row = bench.tile(kHbm, kBf16, {1, 70}, "row");
  expect_copied(bench, bench.tile(kSbuf, kBf16, {128, 70}, "dst"), row.broadcast(0, 128));
  const View column = bench.tile(kSbuf, kBf16, {60, 1}, "column");
  expect_copied(bench, bench.tile(kHbm, kBf16, {60, 33}, "dst"), column.broadcast(1, 33));
}

TEST(DmaCopy, CastsThroughFp32) {
  InstructionBench bench;
  const std::vector<double> values = {1.00390625, -2.5, 3e38, -0.0, NAN, INFINITY, 0.1, 70000};
  const View src = bench.tile(kHbm, kFp32, {4, 2}, "src", values);
  for (const Dtype dtype : {kBf16, Dtype::kFloat16, Dtype::kFloat8E4m3, Dtype::kInt8}) {
    const View dst = bench.tile(kSbuf, dtype, {4, 3}, "dst").slice(1, 1, 2);
    bench.run(DmaCopy{.dst = dst, .src = src});
    std::vector<double> expected;
    for (const double value : bench.get(src)) expected.push_back(round_to(dtype, value));
    expect_values(bench.get(dst), expected);
  }
  const View integers = bench.tile(kHbm, Dtype::kInt32, {2, 1}, "integers", {16777217, -3});
  const View back = bench.tile(kHbm, Dtype::kUint32, {2, 1}, "back");
  bench.run(DmaCopy{.dst = back, .src = integers});
  expect_values(bench.get(back), {16777216, 0});
}

TEST(DmaCopy, CastsLongStridedAndInterleavedRows) {
  InstructionBench bench;
  const View src =
      bench.tile(kHbm, kFp32, {3, 5000}, "src", random_values(15000)).slice(1, 0, 2500, 2);
  const View dst = bench.tile(kSbuf, kBf16, {3, 2500}, "dst");
  bench.run(DmaCopy{.dst = dst, .src = src});
  std::vector<double> expected;
  for (const double value : bench.get(src)) expected.push_back(round_to(kBf16, value));
  expect_values(bench.get(dst), expected);
  const View rows_of_4 = bench.tile(kHbm, kFp32, {6, 5}, "four", random_values(30)).slice(1, 0, 4);
  const View rows_of_6 = bench.tile(kHbm, kBf16, {4, 7}, "six").slice(1, 1, 6);
  bench.run(DmaCopy{.dst = rows_of_6, .src = rows_of_4});
  expected.clear();
  for (const double value : bench.get(rows_of_4)) expected.push_back(round_to(kBf16, value));
  expect_values(bench.get(rows_of_6), expected);
}

TEST(DmaCopy, GathersRows) {
  InstructionBench bench;
  const View table = bench.tile(kHbm, kFp32, {10, 3}, "table", random_values(30));
  const View index = bench.tile(kSbuf, Dtype::kInt32, {4, 1}, "index", {7, 0, -1, 7});
  const View dst = bench.tile(kSbuf, kFp32, {4, 3}, "dst", std::vector<double>(12, 5));
  bench.run(DmaCopy{
      .dst = dst, .src = table.slice(0, 0, 4).indirect(10), .index = index, .oob_skip = true});
  const std::vector<double> all = bench.get(table);
  expect_values(bench.get(dst), {all[21], all[22], all[23], all[0], all[1], all[2], 5, 5, 5,
                                 all[21], all[22], all[23]});
}

TEST(DmaCopy, ScattersRowsWithACast) {
  InstructionBench bench;
  const View table = bench.tile(kHbm, kBf16, {5, 2}, "table", std::vector<double>(10, 9));
  const View index = bench.tile(kSbuf, Dtype::kUint32, {3, 1}, "index", {4, 1, 4});
  const View src = bench.tile(kSbuf, kFp32, {3, 2}, "src", {1, 2, 3, 4, 5, 6});
  bench.run(DmaCopy{.dst = table.slice(0, 0, 3).indirect(5), .src = src, .index = index});
  expect_values(bench.get(table), {9, 9, 3, 4, 9, 9, 9, 9, 5, 6});
}

TEST(DmaCopy, AddsToWhatIsThere) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kInt32}) {
    InstructionBench bench;
    const View dst =
        bench.tile(kHbm, dtype, {6, 50}, "dst", random_values(300, -9, 9)).slice(1, 1, 20, 2);
    const View src = bench.tile(kSbuf, kFp32, {6, 20}, "src", random_values(120, -9, 9, 4));
    const std::vector<double> before = bench.get(dst), added = bench.get(src);
    const DmaCopy copy{.dst = dst, .src = src, .dst_rmw_add = true};
    bench.run(copy);
    std::vector<double> expected;
    for (size_t i = 0; i < before.size(); ++i) {
      expected.push_back(round_to(dtype, round_to(kFp32, before[i] + added[i])));
    }
    expect_values(bench.get(dst), expected);
    const Step step = bench.demand(copy).steps[0];
    EXPECT_EQ(step.transfer, TransferClass::kCompute);
    EXPECT_EQ(step.descriptors, DescriptorKind::kStatic);
  }
}

TEST(DmaCopy, AddsToScatteredRowsOnceUnlessIndicesMayRepeat) {
  InstructionBench bench;
  const View table = bench.tile(kHbm, kFp32, {5, 2}, "table", std::vector<double>(10, 9));
  const View index = bench.tile(kSbuf, Dtype::kInt32, {3, 1}, "index", {4, 1, 4});
  const View src = bench.tile(kSbuf, kFp32, {3, 2}, "src", {1, 2, 3, 4, 5, 6});
  DmaCopy copy{
      .dst = table.slice(0, 0, 3).indirect(5), .src = src, .index = index, .dst_rmw_add = true};
  try {
    bench.run(copy);
    FAIL() << "no error";
  } catch (const KernelError& error) {
    EXPECT_STREQ(error.what(),
                 "'dma_copy' adds to row 4 for the indices of partitions 0 and 2, but "
                 "unique_indices is True.");
  }
  expect_values(bench.get(table), std::vector<double>(10, 9));
  copy.unique_indices = false;
  bench.run(copy);
  expect_values(bench.get(table), {9, 9, 12, 13, 9, 9, 9, 9, 15, 17});
}

TEST(DmaCopy, CopiesPackedElementsBitByBit) {
  InstructionBench bench;
  for (const Dtype dtype : {Dtype::kFloat8E4m3fnX4, Dtype::kFloat4E2m1fnX4}) {
    expect_copied(bench, bench.tile(kSbuf, dtype, {7, 9}, "dst"),
                  bench.tile(kHbm, dtype, {7, 9}, "src"));
  }
}

TEST(DmaCopy, ChoosesEngineAndDescriptors) {
  InstructionBench bench;
  const View hbm = bench.tile(kHbm, kFp32, {8, 4}, "hbm");
  const View sbuf = bench.tile(kSbuf, kFp32, {8, 4}, "sbuf");
  const View cast = bench.tile(kSbuf, kBf16, {8, 4}, "cast");
  const View index = bench.tile(kSbuf, Dtype::kInt32, {8, 1}, "index");
  const auto expect = [&](DmaCopy copy, EngineKind engine, DescriptorKind kind) {
    const Draft draft = bench.prepare(copy);
    EXPECT_EQ(draft.engine, engine);
    EXPECT_EQ(kDmaCopy.demand(draft, bench.architecture()).steps[0].descriptors, kind);
  };
  using enum DescriptorKind;
  const DmaCopy plain{.dst = sbuf, .src = hbm};
  DmaCopy copy = plain;
  expect(copy, EngineKind::kSync, kHardware);
  expect({.dst = cast, .src = hbm}, EngineKind::kGpSimd, kSoftware);
  expect({.dst = sbuf, .src = hbm.indirect(8), .index = index}, EngineKind::kGpSimd, kSoftware);
  for (const auto& [engine, kind] : {std::pair{EngineKind::kScalar, kHardware},
                                     {EngineKind::kGpSimd, kSoftware},
                                     {EngineKind::kVector, kStatic},
                                     {EngineKind::kTensor, kStatic}}) {
    copy.engine = engine;
    expect(copy, engine, kind);
  }
  copy = plain;
  copy.descriptors = kSoftware;
  expect(copy, EngineKind::kGpSimd, kSoftware);
  copy.descriptors = kStatic;
  expect(copy, EngineKind::kSync, kStatic);
  bench.architecture().features.hardware_descriptors = false;
  expect(plain, EngineKind::kSync, kStatic);
  expect({.dst = sbuf, .src = hbm.at_register(0, 4)}, EngineKind::kGpSimd, kSoftware);
}

}  // namespace
}  // namespace neuron_sim
