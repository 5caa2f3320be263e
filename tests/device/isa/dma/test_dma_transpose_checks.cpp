#include <gtest/gtest.h>

#include "device/isa/dma/dma_transpose.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

using enum DescriptorKind;

class DmaTransposeChecks : public ::testing::Test {
 protected:
  DmaTranspose make(std::vector<int64_t> shape, Dtype dtype = kBf16, MemoryKind from = kHbm) {
    DmaTranspose transpose;
    transpose.src = bench.tile(from, dtype, shape, "src");
    std::swap(shape.front(), shape.back());
    transpose.dst = bench.tile(kSbuf, dtype, shape, "dst");
    return transpose;
  }
  DmaTranspose gather(std::vector<int64_t> shape, std::vector<int64_t> index, Dtype dtype = kBf16) {
    DmaTranspose transpose = make(std::move(shape), dtype);
    transpose.src = transpose.src.indirect(1000);
    transpose.index = bench.tile(kSbuf, Dtype::kUint32, std::move(index), "index");
    return transpose;
  }
  std::string error(const DmaTranspose& transpose) { return bench.error(transpose); }
  InstructionBench bench;
};

TEST_F(DmaTransposeChecks, ReportsMemoriesShapesAxesAndDtypes) {
  DmaTranspose transpose = make({8, 4});
  EXPECT_EQ(error(transpose), "");
  transpose.dst = bench.tile(kHbm, kBf16, {4, 8}, "dst");
  EXPECT_EQ(error(transpose),
            "Expected operand 'dst' of 'dma_transpose' to be in address space 'sbuf', but got a "
            "tile in 'hbm' instead.");
  EXPECT_EQ(error(make({8, 4}, kBf16, kPsum)),
            "Expected operand 'src' of 'dma_transpose' to be in address space 'hbm|sbuf', but got "
            "a tile in 'psum' instead.");
  transpose.dst = bench.tile(kSbuf, kBf16, {8, 4}, "dst");
  EXPECT_EQ(error(transpose),
            "operand 'dst' of 'dma_transpose' is dst[8, 4], which is not the shape of the "
            "transpose of src[8, 4].");
  transpose.dst = bench.tile(kSbuf, kBf16, {4, 8, 1}, "dst");
  EXPECT_EQ(error(transpose),
            "operand 'dst' of 'dma_transpose' is dst[4, 8, 1], which is not the shape of the "
            "transpose of src[8, 4].");
  transpose.dst = bench.tile(kSbuf, Dtype::kFloat16, {4, 8}, "dst");
  EXPECT_EQ(error(transpose),
            "dtype float16 of operand 'dst' of 'dma_transpose' is not supported; expected "
            "bfloat16, the dtype of 'src'.");
  EXPECT_EQ(bench.error_kind(transpose), ErrorKind::kType);
  EXPECT_EQ(error(make({2, 2, 2, 2, 2})),
            "operand 'src' of 'dma_transpose' is src[2, 2, 2, 2, 2], but must have 2, 3 or 4 "
            "dimensions.");
  EXPECT_EQ(error(make({4, 128})), "");
  EXPECT_EQ(error(make({4, 129})),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'dma_transpose', operand 'dst', architecture trn2)");
  EXPECT_EQ(error(make({0, 4})), "'dma_transpose' of no elements to dst[4, 0].");
  transpose = make({8, 1});
  transpose.dst = bench.tile(kSbuf, kBf16, {1, 1}, "dst").broadcast(1, 8);
  EXPECT_EQ(error(transpose),
            "operand 'dst' of 'dma_transpose' repeats dimension 1 of dst[1, 8]; only a source can "
            "be broadcast.");
}

TEST_F(DmaTransposeChecks, AcceptsOnePermutationPerRank) {
  const std::string rest =
      " are not supported; (1, 0) of 2, (2, 1, 0) of 3 and (3, 1, 2, 0) of 4 dimensions are.";
  const auto with_axes = [&](std::vector<int64_t> shape, std::vector<int> axes) {
    DmaTranspose transpose = make(std::move(shape));
    transpose.axes = std::move(axes);
    return error(transpose);
  };
  EXPECT_EQ(with_axes({8, 4}, {1, 0}), "");
  EXPECT_EQ(with_axes({8, 3, 4}, {2, 1, 0}), "");
  EXPECT_EQ(with_axes({8, 3, 2, 4}, {3, 1, 2, 0}), "");
  EXPECT_EQ(with_axes({8, 4}, {0, 1}), "axes of 'dma_transpose' of src[8, 4]" + rest);
  EXPECT_EQ(with_axes({8, 3, 4}, {2, 0, 1}), "axes of 'dma_transpose' of src[8, 3, 4]" + rest);
  EXPECT_EQ(with_axes({8, 3, 2, 4}, {3, 2, 1, 0}),
            "axes of 'dma_transpose' of src[8, 3, 2, 4]" + rest);
}

TEST_F(DmaTransposeChecks, ChoosesHardwareDescriptorsWhereTheyWork) {
  const auto expect = [&](const DmaTranspose& transpose, DescriptorKind kind,
                          const std::string& reason) {
    const Draft draft = bench.prepare(transpose);
    EXPECT_EQ(kDmaTranspose.demand(draft, bench.architecture()).steps[0].descriptors, kind)
        << transpose.src.describe();
    DmaTranspose forced = transpose;
    forced.descriptors = kHardware;
    EXPECT_EQ(error(forced), reason.empty()
                                 ? ""
                                 : text("'dma_transpose' of ", name(transpose.src.dtype()), " ",
                                        transpose.src.describe(),
                                        " on engine Sync of architecture trn2: hardware "
                                        "descriptors need ",
                                        reason, "."));
  };
  const std::string first = "a src whose first dimension is 1, 2, 4, 8 or 16";
  const std::string product = "src.shape[0] * src.shape[-2] to be a multiple of 16";
  expect(make({16, 128}), kHardware, "");
  expect(make({15, 128}), kStatic, "a 2-D src of 16 rows");
  expect(make({17, 128}), kStatic, "a 2-D src of 16 rows");
  expect(make({16, 1}, Dtype::kFloat16), kHardware, "");
  expect(make({16, 128}, kFp32), kStatic, "2-byte elements");
  expect(make({16, 128}, Dtype::kUint8), kStatic, "2-byte elements");
  expect(make({8, 2, 128}), kHardware, "");
  expect(make({8, 3, 128}), kStatic, product);
  expect(make({1, 16, 128}), kHardware, "");
  expect(make({1, 15, 128}), kStatic, product);
  expect(make({3, 16, 128}), kStatic, first);
  expect(make({32, 16, 128}), kStatic, first);
  expect(make({4, 3, 4, 128}), kHardware, "");
  expect(make({4, 4, 3, 128}), kStatic, product);
  bench.architecture().limits.partitions = 256;
  expect(make({16, 129}), kStatic, "at most 128 elements in the last dimension of src");
}

TEST_F(DmaTransposeChecks, ReportsDescriptorsAndPrioritiesThatDoNotExist) {
  DmaTranspose transpose = make({16, 128});
  transpose.descriptors = kSoftware;
  EXPECT_EQ(error(transpose),
            "'dma_transpose' of bfloat16 src[16, 128] on engine GpSimd of architecture trn2: "
            "software descriptors transpose only with an index.");
  transpose.descriptors = kStatic;
  EXPECT_EQ(error(transpose), "");
  transpose.src = transpose.src.at_register(1, 2);
  EXPECT_EQ(error(transpose),
            "'dma_transpose' of bfloat16 src[16, 128] on engine Sync of architecture trn2: static "
            "descriptors cannot hold a register address.");
  transpose = make({16, 128});
  transpose.descriptors = kHardware;
  transpose.engine = EngineKind::kVector;
  EXPECT_EQ(error(transpose),
            "'dma_transpose' of bfloat16 src[16, 128] on engine Vector of architecture trn2: "
            "hardware descriptors need engine Sync or Scalar.");
  transpose = make({16, 128});
  transpose.priority = 1;
  EXPECT_EQ(error(transpose),
            "parameter 'priority' needs NeuronCore-v4 or newer. (instruction 'dma_transpose', "
            "architecture trn2)");
  bench.architecture().features.dma_priority = true;
  for (const int64_t priority : {0, 3}) {
    transpose.priority = priority;
    EXPECT_EQ(error(transpose), "");
  }
  for (const int64_t priority : {-2, 4}) {
    transpose.priority = priority;
    EXPECT_EQ(error(transpose), text("parameter 'priority' is ", priority,
                                     ", but must be 0 to 3. (instruction 'dma_transpose', "
                                     "architecture trn2)"));
  }
  transpose.priority = 0;
  transpose.descriptors = kStatic;
  EXPECT_EQ(error(transpose),
            "parameter 'priority' is not supported with static descriptors. (instruction "
            "'dma_transpose', architecture trn2)");
  bench.architecture().features.hardware_descriptors = false;
  transpose = make({16, 128});
  EXPECT_EQ(error(transpose), "");
  transpose.descriptors = kHardware;
  EXPECT_EQ(error(transpose),
            "'dma_transpose' of bfloat16 src[16, 128] on engine Sync of architecture trn2: it has "
            "no hardware descriptors.");
  EXPECT_EQ(bench.error_kind(transpose), ErrorKind::kNotImplemented);
}

TEST_F(DmaTransposeChecks, ReportsWrongIndices) {
  EXPECT_EQ(error(gather({16, 128}, {16, 1})), "");
  EXPECT_EQ(error(gather({256, 128}, {128, 2})), "");
  const std::string shape = ", but must be [P, 1] with P a multiple of 16 up to 128, or [128, N].";
  for (const std::vector<int64_t>& index :
       std::vector<std::vector<int64_t>>{{8, 1}, {24, 1}, {144, 1}, {64, 2}}) {
    EXPECT_EQ(error(gather({16, 8}, index)), text("operand 'index' of 'dma_transpose' is index[",
                                                  index[0], ", ", index[1], "]", shape));
  }
  EXPECT_EQ(error(gather({272, 8}, {128, 2})),
            "operand 'src' of 'dma_transpose' is src[272, 8], but with index[128, 2] its first "
            "dimension must be a multiple of 16 and at most 256.");
  EXPECT_EQ(error(gather({24, 8}, {128, 1})),
            "operand 'src' of 'dma_transpose' is src[24, 8], but with index[128, 1] its first "
            "dimension must be a multiple of 16 and at most 128.");
  EXPECT_EQ(error(gather({16, 8}, {16, 1}, kFp32)),
            "dtype float32 of operand 'src' of 'dma_transpose' is not supported; expected a "
            "2-byte dtype, because it is indirect.");
  EXPECT_EQ(error(gather({16, 2, 1, 8}, {16, 1})), "");
  EXPECT_EQ(error(gather({16, 2, 2, 8}, {16, 1})),
            "dimension 1 or 2 of indirect 'src' src[16, 2, 2, 8] of 'dma_transpose' must have "
            "size 1.");
  DmaTranspose transpose = gather({16, 8}, {16, 1});
  transpose.index = View();
  EXPECT_EQ(error(transpose),
            "'dma_transpose' needs operand 'index' together with an indirect 'src'.");
  transpose = gather({16, 8}, {16, 1});
  transpose.index = bench.tile(kSbuf, Dtype::kInt32, {16, 1}, "index");
  EXPECT_EQ(error(transpose),
            "dtype int32 of operand 'index' of 'dma_transpose' is not supported; expected "
            "uint32.");
  transpose = make({16, 8});
  transpose.oob_skip = true;
  EXPECT_EQ(error(transpose),
            "'dma_transpose' skips rows out of bounds only with an indirect 'src'.");
  for (const DescriptorKind kind : {kHardware, kStatic}) {
    transpose = gather({16, 8}, {16, 1});
    transpose.descriptors = kind;
    EXPECT_EQ(error(transpose), text("'dma_transpose' of bfloat16 src[16, 8] on engine Sync of "
                                     "architecture trn2: ",
                                     kind == kHardware ? "hardware" : "static",
                                     " descriptors cannot follow an index."));
  }
  bench.architecture().limits.partitions = 256;
  EXPECT_EQ(error(gather({16, 129}, {16, 1})),
            "size of dimension 1 in indirect 'src' src[16, 129] of 'dma_transpose' exceed "
            "limitation of 128.");
  bench.architecture().features.dma_transpose = false;
  EXPECT_EQ(error(gather({16, 8}, {16, 1})),
            "'dma_transpose' with an indirect 'src' needs NeuronCore-v3 or newer (architecture "
            "trn2).");
}

TEST_F(DmaTransposeChecks, DemandsTheDescriptorsOfTheCopyThatWritesTheSame) {
  const auto step = [&](const DmaTranspose& transpose) {
    const Demand demand = bench.demand(transpose);
    EXPECT_EQ(demand.count, 1);
    EXPECT_EQ(demand.steps[0].unit, Unit::kDma);
    return demand.steps[0];
  };
  Step full = step(make({512, 128}));
  EXPECT_EQ(full.transfer, TransferClass::kTransposeHbm);
  EXPECT_EQ(full.elements, 128);
  EXPECT_EQ(full.bytes, 1024);
  EXPECT_EQ(full.padded_bytes, 1024);
  EXPECT_FALSE(full.store);
  const Step on_chip = step(make({128, 128}, kFp32, kSbuf));
  EXPECT_EQ(on_chip.transfer, TransferClass::kTransposeSbuf);
  EXPECT_EQ(on_chip.bytes, 512);
  EXPECT_TRUE(on_chip.store);
  const Step ragged = step(make({17, 3, 64}));  // 64 of 128 partitions, 17 of 32 elements
  EXPECT_EQ(ragged.elements, 64 * 3);
  EXPECT_EQ(ragged.bytes, 34);
  EXPECT_EQ(ragged.padded_bytes, 128);
  const Step gathered = step(gather({256, 64}, {128, 2}));
  EXPECT_EQ(gathered.descriptors, kSoftware);
  EXPECT_EQ(gathered.transfer, TransferClass::kTransposeHbm);
  EXPECT_EQ(gathered.elements, 256);
  EXPECT_EQ(gathered.bytes, 128);
  EXPECT_EQ(gathered.padded_bytes, 256);
  const Step bytes = step(make({512, 128}, Dtype::kUint8));
  EXPECT_EQ(bytes.transfer, TransferClass::kCopy);
  EXPECT_EQ(bytes.fragments, 512);
  bench.architecture().features.dma_transpose = false;
  for (const MemoryKind from : {kHbm, kSbuf}) {  // from SBUF every element is another partition's
    const Step old = step(make({100, 128}, kBf16, from));
    EXPECT_EQ(old.transfer, TransferClass::kCopy);
    EXPECT_EQ(old.elements, from == kHbm ? 128 : 12800);
    EXPECT_EQ(old.bytes, from == kHbm ? 200 : 2);
    EXPECT_EQ(old.padded_bytes, 0);
  }
}

}  // namespace
}  // namespace neuron_sim
