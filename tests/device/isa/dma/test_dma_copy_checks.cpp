#include <gtest/gtest.h>

#include "device/isa/dma/dma_copy.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

TEST(DmaCopyChecks, ReportsMemoriesAndShapes) {
  InstructionBench bench;
  const View hbm = bench.tile(kHbm, kFp32, {8, 4}, "hbm");
  const View sbuf = bench.tile(kSbuf, kFp32, {8, 4}, "sbuf");
  const View psum = bench.tile(kPsum, kFp32, {8, 4}, "psum");
  const auto error = [&](const DmaCopy& copy) { return bench.error(copy); };
  EXPECT_EQ(
      error({.dst = sbuf, .src = psum}),
      "Expected operand 'src' of 'dma_copy' to be in address space 'hbm|sbuf', but got a tile "
      "in 'psum' instead.");
  EXPECT_EQ(
      error({.dst = psum, .src = hbm}),
      "Expected operand 'dst' of 'dma_copy' to be in address space 'hbm|sbuf', but got a tile "
      "in 'psum' instead.");
  EXPECT_EQ(
      error({.dst = sbuf, .src = hbm.slice(1, 0, 3)}),
      "'dma_copy' needs equal element counts, but dst sbuf[8, 4] has 32 and src hbm[8, 3] has "
      "24.");
  EXPECT_EQ(error({.dst = sbuf.slice(1, 0, 0), .src = hbm.slice(1, 0, 0)}),
            "'dma_copy' of no elements to sbuf[8, 0].");
  EXPECT_EQ(error({.dst = sbuf.slice(1, 0, 1).broadcast(1, 4), .src = hbm}),
            "operand 'dst' of 'dma_copy' repeats dimension 1 of sbuf[8, 4]; only a source can be "
            "broadcast.");
  EXPECT_EQ(error({.dst = bench.tile(kSbuf, kFp32, {129, 2}, "high"),
                   .src = bench.tile(kHbm, kFp32, {129, 2}, "rows")}),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'dma_copy', operand 'dst', architecture trn2)");
  EXPECT_EQ(error({.dst = bench.tile(kHbm, kFp32, {129, 2}, "to"),
                   .src = bench.tile(kHbm, kFp32, {129, 2}, "from")}),
            "");
}

TEST(DmaCopyChecks, ReportsDescriptorsThatCannotBeMade) {
  InstructionBench bench;
  const View hbm = bench.tile(kHbm, kFp32, {8, 4}, "hbm");
  const View sbuf = bench.tile(kSbuf, kFp32, {8, 4}, "sbuf");
  const View cast = bench.tile(kSbuf, kBf16, {8, 4}, "cast");
  const View index = bench.tile(kSbuf, Dtype::kInt32, {8, 1}, "index");
  const auto error = [&](const DmaCopy& copy) { return bench.error(copy); };
  const std::string same = "'dma_copy' from float32 hbm[8, 4] to float32 sbuf[8, 4] on engine ";
  const std::string narrow = "'dma_copy' from float32 hbm[8, 4] to bfloat16 cast[8, 4] on engine ";
  using enum DescriptorKind;
  EXPECT_EQ(error({.dst = cast, .src = hbm, .descriptors = kHardware}),
            narrow + "Sync of architecture trn2: hardware descriptors need equal dtypes.");
  EXPECT_EQ(error({.dst = cast, .src = hbm, .engine = EngineKind::kSync}),
            narrow + "Sync of architecture trn2: software descriptors need engine GpSimd.");
  EXPECT_EQ(error({.dst = cast, .src = hbm, .descriptors = kStatic}), "");
  EXPECT_EQ(
      error({.dst = sbuf, .src = hbm, .descriptors = kHardware, .engine = EngineKind::kVector}),
      same + "Vector of architecture trn2: hardware descriptors need engine Sync or Scalar.");
  const View rows = hbm.indirect(8);
  EXPECT_EQ(error({.dst = sbuf, .src = rows, .index = index, .descriptors = kHardware}),
            same + "Sync of architecture trn2: hardware descriptors cannot follow an index.");
  EXPECT_EQ(error({.dst = sbuf, .src = rows, .index = index, .descriptors = kStatic}),
            same + "Sync of architecture trn2: static descriptors cannot follow an index.");
  EXPECT_EQ(error({.dst = sbuf, .src = hbm.at_register(1, 4), .engine = EngineKind::kVector}),
            same +
                "Vector of architecture trn2: static descriptors cannot hold a register address.");
  EXPECT_EQ(error({.dst = sbuf, .src = hbm.at_register(1, 4)}), "");
  bench.architecture().features.hardware_descriptors = false;
  const DmaCopy hardware{.dst = sbuf, .src = hbm, .descriptors = kHardware};
  EXPECT_EQ(error(hardware), same + "Sync of architecture trn2: it has no hardware descriptors.");
  EXPECT_EQ(bench.error_kind(hardware), ErrorKind::kNotImplemented);
}

TEST(DmaCopyChecks, ReportsPackedCastsAdditionsAndPriorities) {
  InstructionBench bench;
  const View hbm = bench.tile(kHbm, kFp32, {8, 4}, "hbm");
  const View sbuf = bench.tile(kSbuf, kFp32, {8, 4}, "sbuf");
  const View packed = bench.tile(kSbuf, Dtype::kFloat8E5m2X4, {8, 4}, "packed");
  const auto error = [&](const DmaCopy& copy) { return bench.error(copy); };
  EXPECT_EQ(error({.dst = packed, .src = hbm}),
            "'dma_copy' cannot cast float32 hbm[8, 4] to float8_e5m2_x4 packed[8, 4]; packed "
            "dtypes are only copied.");
  EXPECT_EQ(bench.error_kind(DmaCopy{.dst = packed, .src = hbm}), ErrorKind::kType);
  EXPECT_EQ(error({.dst = packed, .src = packed}), "");
  EXPECT_EQ(error({.dst = packed, .src = packed, .dst_rmw_add = true}),
            "dtype float8_e5m2_x4 of operand 'dst' of 'dma_copy' is not supported; expected a "
            "dtype to add in, because dst_rmw_op is add.");
  EXPECT_EQ(
      error(
          {.dst = sbuf, .src = hbm, .descriptors = DescriptorKind::kHardware, .dst_rmw_add = true}),
      "'dma_copy' from float32 hbm[8, 4] to float32 sbuf[8, 4] on engine Sync of "
      "architecture trn2: hardware descriptors cannot compute.");
  EXPECT_EQ(error({.dst = sbuf, .src = hbm, .priority = 2}),
            "parameter 'priority' needs NeuronCore-v4 or newer. (instruction 'dma_copy', "
            "architecture trn2)");
  bench.architecture().features.dma_priority = true;
  EXPECT_EQ(error({.dst = sbuf, .src = hbm, .priority = 3}), "");
  EXPECT_EQ(error({.dst = sbuf, .src = hbm, .priority = 4}),
            "parameter 'priority' is 4, but must be 0 to 3. (instruction 'dma_copy', architecture "
            "trn2)");
}

TEST(DmaCopyChecks, ReportsWrongIndices) {
  InstructionBench bench;
  const View rows = bench.tile(kHbm, kFp32, {8, 4}, "hbm").indirect(8);
  const View sbuf = bench.tile(kSbuf, kFp32, {8, 4}, "sbuf");
  const View index = bench.tile(kSbuf, Dtype::kInt32, {8, 1}, "index");
  const auto error = [&](const DmaCopy& copy) { return bench.error(copy); };
  EXPECT_EQ(error({.dst = sbuf, .src = rows, .index = index}), "");
  EXPECT_EQ(error({.dst = sbuf, .src = rows}),
            "'dma_copy' needs operand 'index' together with an indirect 'src' or 'dst'.");
  EXPECT_EQ(error({.dst = rows, .src = rows, .index = index}),
            "'dma_copy' cannot have an indirect 'src' and an indirect 'dst'.");
  EXPECT_EQ(error({.dst = sbuf, .src = rows, .index = bench.tile(kSbuf, kFp32, {8, 1}, "index")}),
            "dtype float32 of operand 'index' of 'dma_copy' is not supported; expected int32 or "
            "uint32.");
  EXPECT_EQ(
      error({.dst = sbuf, .src = rows, .index = index.broadcast(1, 2)}),
      "operand 'index' of 'dma_copy' is index[8, 2], but must have one element per partition.");
  EXPECT_EQ(error({.dst = sbuf, .src = rows, .index = index.slice(0, 0, 7)}),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (dst[8, 4], "
            "index[7, 1]) of 'dma_copy'");
  EXPECT_EQ(
      error({.dst = sbuf, .src = rows, .index = bench.tile(kHbm, Dtype::kInt32, {8, 1}, "index")}),
      "Expected operand 'index' of 'dma_copy' to be in address space 'sbuf', but got a tile "
      "in 'hbm' instead.");
}

TEST(DmaCopyDemand, CountsDescriptorsBytesAndFragments) {
  InstructionBench bench;
  bench.architecture().dma.engines = 16;
  const View tensor = bench.tile(kHbm, kFp32, {128, 4, 512}, "tensor");
  const View tile = bench.tile(kSbuf, kFp32, {128, 2048}, "tile");
  const auto expect = [&](const View& dst, const View& src, int64_t descriptors, int64_t bytes,
                          int64_t fragments) {
    const Demand demand = bench.demand(DmaCopy{.dst = dst, .src = src});
    ASSERT_EQ(demand.count, 1);
    const Step& step = demand.steps[0];
    EXPECT_EQ(step.unit, Unit::kDma);
    EXPECT_EQ(step.elements, descriptors);
    EXPECT_EQ(step.bytes, bytes);
    EXPECT_EQ(step.fragments, fragments);
    EXPECT_EQ(step.store, src.memory() == kSbuf);
  };
  expect(tile, tensor, 128, 8192, 1);
  expect(tensor, tile, 128, 8192, 1);
  expect(tile.slice(1, 0, 400), tensor.slice(2, 0, 100), 512, 400, 1);
  expect(tile.slice(1, 0, 1), tensor.slice(1, 0, 1).slice(2, 0, 1), 128, 4, 1);
  const View column = bench.tile(kHbm, kFp32, {128}, "column");
  expect(tile.slice(1, 0, 1), column, 128, 4, 1);
  const View matrix = bench.tile(kHbm, kFp32, {2048, 128}, "matrix");
  expect(tile, matrix.permute({1, 0}), 128, 8192, 2048);
  expect(tile.slice(1, 0, 1024), tensor.merge(1).slice(1, 0, 1024, 2), 128, 4096, 1024);
  const View narrow = bench.tile(kSbuf, kBf16, {128, 2048}, "narrow");
  expect(narrow, tensor, 128, 8192, 1);  // a cast moves the bytes of the wider side
  const View copy = bench.tile(kHbm, kFp32, {128, 4, 512}, "copy");
  expect(copy, tensor, 16, 65536, 1);
  expect(copy.slice(0, 0, 1).slice(1, 0, 1).slice(2, 0, 255),
         tensor.slice(0, 0, 1).slice(1, 0, 1).slice(2, 0, 255), 1, 1020, 1);
}

TEST(DmaCopyDemand, CountsTheBytesThatAPartitionGetsOfHbmInARow) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kBf16, {128, 4, 32}, "tile");
  const auto run = [&](const View& dst, const View& src) {
    return bench.demand(DmaCopy{.dst = dst, .src = src}).steps[0].loaded_run;
  };
  // 32 neighbours for each partition and token, [token, partition, 32] in HBM.
  const View tokens = bench.tile(kHbm, kBf16, {4, 128, 32}, "tokens");
  EXPECT_EQ(run(tile, tokens.permute({1, 0, 2})), 64);
  // A partition's own row, whatever the tile makes of it.
  const View rows = bench.tile(kHbm, kBf16, {128, 4, 32}, "rows");
  EXPECT_EQ(run(tile, rows), 256);
  EXPECT_EQ(run(tile.permute({0, 2, 1}), rows.permute({0, 2, 1})), 2);
  const View wide = bench.tile(kSbuf, kBf16, {128, 4, 64}, "wide");
  EXPECT_EQ(run(wide.slice(2, 0, 32), rows), 256);
  // Every second element of HBM; a cast reads the source's bytes; a store loads nothing.
  EXPECT_EQ(run(tile.slice(2, 0, 16), rows.slice(2, 0, 16, 2)), 2);
  EXPECT_EQ(run(bench.tile(kSbuf, kFp32, {128, 4, 32}, "cast"), rows), 256);
  EXPECT_EQ(run(rows, tile), 0);
}

TEST(DmaCopyDemand, CountsWordsOfHbmThatItWritesInPart) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kFp32, {128, 64}, "tile");
  const View narrow = bench.tile(kSbuf, kBf16, {128, 64}, "narrow");
  const auto words = [&](const View& dst, const View& src) {
    return bench.demand(DmaCopy{.dst = dst, .src = src}).steps[0].partial_words;
  };
  const auto hbm = [&](Dtype dtype, int64_t columns) {
    return bench.tile(kHbm, dtype, {128, columns}, "tensor");
  };
  // Rows of 4 bytes that follow each other: two share a word of 8 bytes.
  EXPECT_EQ(words(hbm(kFp32, 1), tile.slice(1, 0, 1)), 64);
  EXPECT_EQ(words(hbm(kBf16, 1), narrow.slice(1, 0, 1)), 32);
  EXPECT_EQ(words(hbm(kBf16, 3), narrow.slice(1, 0, 3)), 96);
  EXPECT_EQ(words(hbm(kBf16, 3).slice(0, 0, 1), narrow.slice(0, 0, 1).slice(1, 0, 3)), 1);
  // A column of a wider tensor: every row is in a word of its own.
  EXPECT_EQ(words(hbm(kFp32, 2).slice(1, 0, 1), tile.slice(1, 0, 1)), 128);
  // Every second element.
  EXPECT_EQ(words(hbm(kFp32, 128).slice(1, 0, 64, 2), tile), 128 * 64);
  // Whole words, and loads.
  EXPECT_EQ(words(hbm(kFp32, 2), tile.slice(1, 0, 2)), 0);
  EXPECT_EQ(words(hbm(kBf16, 4), narrow.slice(1, 0, 4)), 0);
  EXPECT_EQ(words(tile.slice(1, 0, 1), hbm(kFp32, 1)), 0);
}

}  // namespace
}  // namespace neuron_sim
