#include "ops/graph/slice_batch.h"

#include "ops/conv2d/conv2d_maxpool.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

/// a * 2 + 1 from one memory to the next.
GraphKernel step(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) * 2.0 + 1.0; }, {from}, to);
}

/// Weight `memory` [rows, columns] of which all of the batch reads all.
GraphTensor weight_in(size_t memory, int64_t rows, int64_t columns) {
  return tensor_in(memory, {rows, columns});
}

/// [512, 64] -> [512, 256] -> [512, 64] -> + 1; memories 0, 1, 2 and 3 are external.
std::vector<GraphKernel> wide_middle() {
  return {product_of({tensor_in(0, {512, 64}), weight_in(1, 64, 256)}, tensor_in(4, {512, 256})),
          product_of({tensor_in(4, {512, 256}), weight_in(2, 256, 64)}, tensor_in(5, {512, 64})),
          step(tensor_in(5, {512, 64}), tensor_in(3, {512, 64}))};
}
const External kOutside{0, 1, 2, 3};
constexpr int64_t kWide = 512 * 256 * 4, kNarrow = 512 * 64 * 4, kWeight = 64 * 256 * 4;

std::vector<GraphStretch> stretches(const std::vector<GraphKernel>& kernels, int64_t room,
                                    int64_t slice_bytes = 0, const External& external = kOutside) {
  return slice_batch(kernels, is_in(external), room, slice_bytes);
}

std::vector<int64_t> slices(const std::vector<GraphStretch>& all) {
  std::vector<int64_t> found;
  for (const GraphStretch& stretch : all) {
    for (size_t i = stretch.begin; i < stretch.end; ++i) found.push_back(stretch.slices);
  }
  return found;
}

/// The kernels of the stretches in the order in which they run.
std::vector<GraphKernel> in_slices(const std::vector<GraphKernel>& kernels,
                                   const std::vector<GraphStretch>& all) {
  std::vector<GraphKernel> found;
  for (const GraphStretch& stretch : all) {
    for (int64_t slice = 0; slice < stretch.slices; ++slice) {
      for (size_t i = stretch.begin; i < stretch.end; ++i) {
        found.push_back(sliced(kernels[i], slice, stretch.slices).value());
      }
    }
  }
  return found;
}

void expect_same_bytes(const std::vector<GraphKernel>& kernels,
                       const std::vector<GraphStretch>& all, const External& external,
                       const HostMemories& before) {
  for (const char* const name : {"trn1", "trn2"}) {
    HostMemories expected = before, actual = before;
    run_graph(built_graph(kernels, external, plain(), name), expected);
    run_graph(built_graph(in_slices(kernels, all), external, plain(), name), actual);
    for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]) << memory;
  }
}

TEST(SliceBatch, AGraphThatFitsRunsAtOnce) {
  const auto all = stretches(wide_middle(), kWide + kNarrow);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().slices, 1);
}

TEST(SliceBatch, AMiddleThatDoesNotFitRunsInTheFewestSlicesThatDo) {
  const std::vector<GraphKernel> kernels = wide_middle();
  EXPECT_EQ(slices(stretches(kernels, kWide + kNarrow - 1)), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(slices(stretches(kernels, (kWide + kNarrow) / 2)), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(slices(stretches(kernels, (kWide + kNarrow) / 2 - 1)), (std::vector<int64_t>{4, 4, 4}))
      << "512 rows are no three equal parts";
}

TEST(SliceBatch, SlicesThatCostMoreThanTheySaveAreNotMade) {
  const std::vector<GraphKernel> kernels = wide_middle();
  const auto found = [&](int64_t slice_bytes) {
    return slices(stretches(kernels, kWide + kNarrow - 1, slice_bytes));
  };
  EXPECT_EQ(found(2 * kNarrow - 1), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(found(2 * kNarrow + 1), (std::vector<int64_t>{2, 2, 1}))
      << "the narrow tensor is stored and loaded";
  const int64_t most = kWide - kWeight;  // two kernels more, and both weights once more
  EXPECT_EQ(found(most - 1), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(found(most + 1), (std::vector<int64_t>{1, 1, 1}));
}

TEST(SliceBatch, SlicesHaveTheBytesOfTheWhole) {
  const std::vector<GraphKernel> kernels = wide_middle();
  const HostMemories before =
      random_memories({512 * 64, 64 * 256, 256 * 64, 512 * 64, 512 * 256, 512 * 64});
  for (const int64_t count : {2, 4, 16}) {
    expect_same_bytes(kernels, {{0, 3, count}}, kOutside, before);
  }
}

TEST(SliceBatch, AKernelThatMixesTheRowsEndsAStretch) {
  // The last product sums over the batch.
  std::vector<GraphKernel> kernels = wide_middle();
  kernels.pop_back();
  kernels.push_back(product_of({tensor_in(5, {64, 512}, {1, 64}), tensor_in(0, {512, 64})},
                               tensor_in(3, {64, 64})));
  const std::vector<int64_t> found = slices(stretches(kernels, kWide / 2));
  EXPECT_GT(found[0], 1);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[2], 1);
}

TEST(SliceBatch, ARowIsNotCut) {
  const GraphTensor from = tensor_in(0, {6, 40}), to = tensor_in(1, {6, 40});
  const GraphKernel rows = rows_of(centred(40), {from}, {to, tensor_in(2, {6, 1})});
  EXPECT_TRUE(sliced(rows, 0, 3));
  EXPECT_FALSE(sliced(rows, 0, 4)) << "six rows";
  RowProgram columns = centred(6);
  columns.reduced = {true, false};
  const GraphKernel across = rows_of(columns, {from}, {to, tensor_in(2, {1, 40})});
  EXPECT_FALSE(sliced(across, 0, 2)) << "each row reaches over all slices";
}

TEST(SliceBatch, ColumnsOfAProductAreNotCut) {
  const GraphKernel product =
      product_of({tensor_in(0, {8, 4}), tensor_in(1, {4, 16})}, tensor_in(2, {8, 16}, {1, 8}));
  EXPECT_FALSE(sliced(product, 0, 2)) << "its columns have the longest stride";
}

TEST(SliceBatch, AKernelOfWhichNobodyKnowsItsBatchIsNotCut) {
  GraphKernel kernel = step(tensor_in(0, {8, 4}), tensor_in(1, {8, 4}));
  kernel.traits = {};
  EXPECT_FALSE(sliced(kernel, 0, 2));
  kernel.traits.operands = {{.batched = true}};
  EXPECT_TRUE(sliced(kernel, 0, 2));
}

TEST(SliceBatch, AnOperandThatRepeatsAlongTheBatchIsReadByAllSlices) {
  const GraphKernel kernel =
      pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                {tensor_in(0, {8, 4}), tensor_in(1, {8, 4}, {0, 1})}, tensor_in(2, {8, 4}));
  const GraphKernel last = sliced(kernel, 3, 4).value();
  EXPECT_EQ(last.operands[0].byte_offset, 6 * 4 * 4);
  EXPECT_EQ(last.operands[1].byte_offset, 0);
  EXPECT_EQ(last.operands[1].shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(last.results[0].byte_offset, 6 * 4 * 4);
}

TEST(SliceBatch, ResultsInPlaceOfWhatOtherSlicesReadEndAStretch) {
  // The second kernel overwrites, in another order, what the first one reads.
  const std::vector<int64_t> shape{64, 64}, turned{1, 64};
  const std::vector<GraphKernel> kernels{step(tensor_in(0, shape), tensor_in(2, shape)),
                                         step(tensor_in(2, shape), tensor_in(3, shape)),
                                         pointwise([](Expression& e) { return e.input(0); },
                                                   {tensor_in(3, shape, turned)},
                                                   tensor_in(1, shape))};
  const std::vector<int64_t> found = slices(stretches(kernels, 1000, 0, {0, 1}));
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[2], 1);
}

TEST(SliceBatch, ImagesRunInSlicesThroughConvolutions) {
  const Conv2dMaxpoolOptions options{.padding = {1, 1}};
  const auto convolution = [&](size_t from, size_t to) {
    return kernel_of(kConvolution, options,
                     {tensor_in(from, {6, 5, 8, 9}), tensor_in(1, {5, 5, 3, 3})},
                     {tensor_in(to, {6, 5, 8, 9})});
  };
  const std::vector<GraphKernel> kernels{convolution(0, 2), convolution(2, 3)};
  EXPECT_EQ(slices(stretches(kernels, 6000, 0, {0, 1, 3})), (std::vector<int64_t>{2, 2}));
  const HostMemories before = random_memories({2160, 225, 2160, 2160});
  expect_same_bytes(kernels, {{0, 2, 3}}, {0, 1, 3}, before);
}

TEST(SliceBatch, AWideGraphStaysInSbufInSlices) {
  // 4096 rows through a layer of 2048 columns, of which half of SBUF holds less than all.
  const int64_t rows = 4096, columns = 2048, narrow = 256;
  const auto rounded = [](size_t memory, const std::vector<int64_t>& shape) {
    return tensor_in(memory, shape, {}, 0, Dtype::kBfloat16);
  };
  const std::vector<GraphKernel> kernels{
      product_of({rounded(0, {rows, narrow}), rounded(1, {narrow, columns})},
                 rounded(4, {rows, columns})),
      product_of({rounded(4, {rows, columns}), rounded(2, {columns, narrow})},
                 rounded(3, {rows, narrow}))};
  const auto bytes = [](const GraphProgram& built) { return simulate(*built.program).dma_bytes; };
  const GraphProgram built = built_graph(kernels, kOutside, {}, "trn1");
  EXPECT_LT(bytes(built), rows * columns * 2) << "neither stored nor loaded";
  EXPECT_EQ(built.kernels, 2U) << "in however many slices";
  const GraphProgram as_written = built_graph(kernels, kOutside, plain(), "trn1");
  EXPECT_GT(bytes(as_written), 2 * rows * columns * 2);
}

}  // namespace
}  // namespace neuron_sim
