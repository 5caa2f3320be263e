#include "ops/graph/share_results.h"

#include "device/timeline/timeline.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{256, 256};
constexpr int64_t kElements = 256 * 256;
const External kOutside{0, 1, 4, 5, 6};

/// memory `to` = exp(memory `from` * scale)
GraphKernel mask(size_t from, size_t to, double scale = 0.5) {
  return pointwise(
      [=](Expression& e) { return e.activation(Activation::kExp, e.input(0) * scale); },
      {tensor_in(from, kShape)}, tensor_in(to, kShape));
}

/// memory `to` = memory `mask` @ memory `other`: a layer that uses the mask.
GraphKernel layer(size_t mask, size_t other, size_t to) {
  return product_of({tensor_in(mask, kShape), tensor_in(other, kShape)}, tensor_in(to, kShape));
}

/// Two layers that compute the same mask.
std::vector<GraphKernel> layers() {
  return {mask(0, 2), layer(2, 1, 5), mask(0, 3), layer(3, 4, 6)};
}

/// The kernels after the pass; the external memories get the same bytes either way.
std::vector<GraphKernel> shared(const std::vector<GraphKernel>& kernels,
                                const External& external = kOutside) {
  const std::vector<GraphKernel> result = after("share_results", kernels, is_in(external));
  const HostMemories before = random_memories(std::vector<int64_t>(7, kElements));
  HostMemories expected = before, actual = before;
  run_graph(built_graph(kernels, external, plain()), expected);
  run_graph(built_graph(result, external, plain()), actual);
  for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]) << memory;
  return result;
}

TEST(ShareResults, TwoLayersReadOneMask) {
  const std::vector<GraphKernel> kernels = shared(layers());
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[2].operands.front(), tensor_in(2, kShape));
}

TEST(ShareResults, TheSecondMaskIsNeitherComputedNorStored) {
  const auto as_written = simulate(*built_graph(layers(), kOutside, plain()).program);
  const auto once = simulate(*built_graph(shared(layers()), kOutside, plain()).program);
  EXPECT_EQ(as_written.dma_bytes - once.dma_bytes, 2 * kElements * 4) << "one load, one store";
  EXPECT_LT(once.body, as_written.body);
}

TEST(ShareResults, AGraphIsShorterThanWhereNobodyKnowsThatItsMasksAreTheSame) {
  const GraphProgram built = built_graph(layers(), kOutside, {});
  const GraphProgram opaque = built_graph(hidden(layers(), {0, 2}), kOutside, {});
  EXPECT_EQ(built.kernels, 3U);
  EXPECT_EQ(opaque.kernels, 4U);
  EXPECT_LT(simulate(*built.program).body, simulate(*opaque.program).body);
}

TEST(ShareResults, WhatIsComputedOfSharedResultsIsSharedToo) {
  EXPECT_EQ(shared({mask(0, 2), mask(0, 3), layer(2, 1, 4), layer(3, 1, 5), mask(4, 6), mask(5, 6)},
                   {0, 1, 6})
                .size(),
            4U);
}

TEST(ShareResults, OtherNumbersOrOperandsAreOtherComputations) {
  EXPECT_EQ(shared({mask(0, 2), layer(2, 1, 5), mask(0, 3, 0.25), layer(3, 4, 6)}).size(), 4U);
  EXPECT_EQ(shared({mask(0, 2), layer(2, 1, 5), mask(1, 3), layer(3, 4, 6)}).size(), 4U);
}

TEST(ShareResults, AnOperandWrittenInBetweenIsAnother) {
  EXPECT_EQ(shared({mask(0, 2), layer(2, 1, 5), mask(4, 0), mask(0, 3), layer(3, 4, 6)}).size(),
            5U);
  EXPECT_EQ(shared({mask(0, 2), mask(0, 3), mask(4, 0), layer(2, 1, 5), layer(3, 4, 6)}).size(), 4U)
      << "after both";
}

TEST(ShareResults, AResultThatIsWrittenAgainIsNotShared) {
  EXPECT_EQ(shared({mask(0, 2), mask(0, 3), mask(1, 2), layer(2, 1, 5), layer(3, 4, 6)}).size(), 5U)
      << "the first";
  EXPECT_EQ(shared({mask(0, 2), mask(0, 3), mask(1, 3), layer(2, 1, 5), layer(3, 4, 6)}).size(), 5U)
      << "the second";
}

TEST(ShareResults, WhatIsReadAfterTheGraphStays) {
  EXPECT_EQ(shared(layers(), {0, 1, 2, 4, 5, 6}).size(), 3U) << "the first may be";
  EXPECT_EQ(shared(layers(), {0, 1, 3, 4, 5, 6}).size(), 4U);
}

TEST(ShareResults, AReaderOfBothSidesOfAResultKeepsIt) {
  const GraphTensor half = tensor_in(3, {128, 256}, {}, kElements / 2);
  const GraphTensor across = tensor_in(3, {128, 256}, {}, kElements / 2 + 256);
  const auto reads = [](const GraphTensor& tensor) {
    return pointwise([](Expression& e) { return e.input(0) + 1.0; }, {tensor},
                     tensor_in(6, {128, 256}));
  };
  const GraphKernel behind = pointwise([](Expression& e) { return e.input(0) + 2.0; },
                                       {tensor_in(1, {256})}, tensor_in(3, {256}, {}, kElements));
  const std::vector<GraphKernel> before{mask(0, 2), layer(2, 1, 5), mask(0, 3)};
  const auto with = [&](const std::vector<GraphKernel>& more) {
    std::vector<GraphKernel> kernels = before;
    kernels.insert(kernels.end(), more.begin(), more.end());
    return after("share_results", kernels, is_in(kOutside)).size();
  };
  EXPECT_EQ(with({reads(half)}), 3U);
  EXPECT_EQ(with({behind, reads(across)}), 5U);
}

}  // namespace
}  // namespace neuron_sim
