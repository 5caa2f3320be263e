#include "ops/graph/drop_copies.h"

#include "ops/copies/copy.h"
#include "ops/pooling/max_pool.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

GraphKernel copy(const GraphTensor& from, const GraphTensor& to) {
  return kernel_of(kCopy, {}, {from}, {to});
}

GraphKernel twice(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) * 2.0; }, {from}, to);
}

/// memory `to` = memory `from` @ memory 4.
GraphKernel product(const GraphTensor& from, size_t to) {
  return product_of({from, tensor_in(4, {12, 6})}, tensor_in(to, {10, 6}));
}

const std::vector<int64_t> kShape{10, 12}, kWide{20, 1};
const GraphTensor kInput = tensor_in(0, kShape), kScratch = tensor_in(2, kShape),
                  kOutput = tensor_in(1, kShape, kWide, 3), kInner = tensor_in(3, kShape, kWide, 3);
const External kOutside{0, 1, 4, 5, 6};

/// Kernels after the pass; the external memories get the same bytes either way.
size_t left(const std::vector<GraphKernel>& kernels, const External& external = kOutside) {
  const auto dropped = after("drop_copies", kernels, is_in(external));
  const HostMemories before = random_memories({240, 240, 240, 240, 72, 240, 240});
  for (const char* const name : {"trn1", "trn2"}) {
    for (const GraphProgramOptions& options : {plain(), GraphProgramOptions{.fuse = false}}) {
      HostMemories expected = before, actual = before;
      run_graph(built_graph(kernels, external, plain(), name), expected);
      run_graph(built_graph(dropped, external, options, name), actual);
      for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]) << memory;
    }
  }
  return dropped.size();
}

TEST(DropCopies, WhatReadsACopyReadsItsSource) {
  EXPECT_EQ(left({copy(kInput, kScratch), product(kScratch, 5)}), 1U);
  EXPECT_EQ(left({copy(kInput, kInner), copy(kInner, kScratch), product(kScratch, 5)}), 1U);
  const GraphTensor some = tensor_in(2, {5, 12}, {24, 1}, 12);
  EXPECT_EQ(left({copy(kInput, kScratch), twice(some, tensor_in(5, {5, 12}))}), 1U)
      << "every second row of it";
}

TEST(DropCopies, AKernelWritesTheCopyOfItsResult) {
  EXPECT_EQ(left({twice(kInput, kScratch), copy(kScratch, kOutput)}), 1U);
  const GraphKernel flat = twice(tensor_in(0, {120}), tensor_in(2, {120}));
  EXPECT_EQ(left({flat, copy(kScratch, kOutput)}), 1U) << "in the dimensions of the copy";
}

TEST(DropCopies, WhatElseReadsTheSourceKeepsIt) {
  EXPECT_EQ(left({twice(kInput, kScratch), copy(kScratch, kOutput), product(kScratch, 5)}), 3U);
  EXPECT_EQ(left({twice(kInput, kScratch), product(kScratch, 5), copy(kScratch, kOutput)}), 3U);
}

TEST(DropCopies, ShortRowsAreReadOnce) {
  EXPECT_EQ(left({copy(kInner, kScratch), product(kScratch, 5)}, {0, 1, 3, 4, 5}), 1U);
  EXPECT_EQ(left({copy(kInner, kScratch), product(kScratch, 5), product(kScratch, 6)},
                 {0, 1, 3, 4, 5, 6}),
            3U);
  EXPECT_EQ(left({copy(kInput, kScratch), product(kScratch, 5), product(kScratch, 6)}), 2U)
      << "neighbours in memory";
}

TEST(DropCopies, ThePaddingOfAnImageIsWrittenBefore) {
  const GraphTensor padded = tensor_in(3, {2, 8, 9}), image = tensor_in(2, {2, 6, 7}),
                    inside = tensor_in(3, {2, 6, 7}, {72, 9, 1}, 10);
  const GraphKernel zeros = pointwise([](Expression& e) { return e.constant(0.0); }, {}, padded);
  const PoolingWindows windows{pooling_windows(8, 4, 2, 2, 0, 1),
                               pooling_windows(9, 4, 2, 2, 0, 1)};
  const GraphKernel pooling =
      kernel_of(kMaxPool, windows, {tensor_in(3, {1, 2, 8, 9})}, {tensor_in(5, {1, 2, 4, 4})});
  EXPECT_EQ(left({twice(tensor_in(0, {2, 6, 7}), image), zeros, copy(image, inside), pooling}), 3U);
}

TEST(DropCopies, HalvesOfRowsAreWrittenToTheirPlaces) {
  const std::vector<int64_t> half{10, 6}, row{12, 1};
  const GraphTensor first = tensor_in(2, half), second = tensor_in(3, half);
  EXPECT_EQ(left({twice(tensor_in(0, half), first), twice(tensor_in(0, half, {}, 60), second),
                  copy(first, tensor_in(1, half, row)), copy(second, tensor_in(1, half, row, 6))}),
            2U);
}

TEST(DropCopies, ACopyOfWhichBothSidesAreSeenStays) {
  EXPECT_EQ(left({copy(kInput, kOutput)}), 1U);
  EXPECT_EQ(left({product(kInput, 5), copy(tensor_in(5, {10, 6}), tensor_in(6, {10, 6}))}), 2U);
}

TEST(DropCopies, RowsThatBecomeColumnsAreCopied) {
  const GraphTensor turned = tensor_in(2, kShape, {1, 10});
  EXPECT_EQ(left({copy(kInput, turned), product(turned, 5)}), 2U);
}

TEST(DropCopies, ReadersOfWhatIsNotOneTensorOfTheOtherSideKeepTheCopy) {
  const GraphTensor wide = tensor_in(0, kShape, kWide, 3);
  EXPECT_EQ(left({copy(wide, kScratch), twice(tensor_in(2, {120}), tensor_in(5, {120}))}), 2U);
  const GraphKernel second = copy(tensor_in(0, {2, 12}), tensor_in(2, {2, 12}, {}, 120));
  const GraphTensor both = tensor_in(2, {12, 12});
  EXPECT_EQ(left({copy(kInput, kScratch), second, twice(both, tensor_in(5, {12, 12}))}), 3U);
}

TEST(DropCopies, WhatIsOverwrittenLaterIsCopied) {
  EXPECT_EQ(left({copy(kOutput, kScratch), twice(kInput, kOutput), product(kScratch, 5)}), 3U);
}

TEST(DropCopies, KernelsWithoutTraitsKeepTheirOperandsAndResults) {
  EXPECT_EQ(left(hidden({copy(kInput, kScratch), product(kScratch, 5)}, {1})), 2U);
  EXPECT_EQ(left(hidden({twice(kInput, kScratch), copy(kScratch, kOutput)}, {0})), 2U);
  EXPECT_EQ(left(hidden({copy(kInput, kScratch), product(kScratch, 5)}, {0})), 2U)
      << "nobody knows that it is a copy";
}

}  // namespace
}  // namespace neuron_sim
