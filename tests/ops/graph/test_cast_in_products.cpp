#include "ops/graph/cast_in_products.h"

#include "device/timeline/timeline.h"
#include "ops/graph/constants.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 5, kDepth = 300, kColumns = 150;  // more than a tile of K and of columns

GraphTensor x() { return tensor_in(0, {kRows, kDepth}, {}, 0, Dtype::kBfloat16); }
GraphTensor y() { return tensor_in(3, {kRows, kColumns}, {}, 0, Dtype::kBfloat16); }

/// The weight, [columns, K] in memory, as a product reads it.
GraphTensor weight(size_t memory, Dtype dtype) {
  return tensor_in(memory, {kDepth, kColumns}, {1, kDepth}, 0, dtype);
}

/// memory 2 = bf16 of the int8 memory 1
GraphKernel cast() {
  const std::vector<int64_t> shape{kColumns, kDepth};
  return pointwise([](Expression& e) { return e.input(0); },
                   {tensor_in(1, shape, {}, 0, Dtype::kInt8)},
                   tensor_in(2, shape, {}, 0, Dtype::kBfloat16));
}

/// memory 3 = memory 0 @ memory 2.T
GraphKernel product() { return product_of({x(), weight(2, Dtype::kBfloat16)}, y()); }

std::vector<GraphKernel> cast_in(std::vector<GraphKernel> kernels, const External& external) {
  return after("cast_in_products", std::move(kernels), is_in(external));
}

HostMemories memories() {
  HostMemories result =
      random_memories({kRows * kDepth, kDepth * kColumns, kDepth * kColumns, 800});
  for (size_t i = 0; i < result[1].size(); ++i) {
    result[1][i] = static_cast<std::byte>(static_cast<int8_t>(i * 7 % 255 - 127));
  }
  return result;
}

TEST(CastInProducts, AProductReadsBytesAndHasTheSameResult) {
  const std::vector<GraphKernel> kernels{cast(), product()};
  const std::vector<GraphKernel> found = cast_in(kernels, {0, 1, 3});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].operands[1], weight(1, Dtype::kInt8));
  for (const char* const name : {"trn1", "trn2"}) {
    HostMemories expected = memories(), actual = expected;
    run_graph(built_graph(kernels, {0, 1, 3}, plain(), name), expected);
    run_graph(built_graph(found, {0, 1, 3}, {}, name), actual);
    EXPECT_EQ(actual[3], expected[3]) << name;
  }
}

TEST(CastInProducts, WeightsInTheirBestOrderCrossHbmAsBytes) {
  std::vector<GraphKernel> kernels = cast_in({cast(), product()}, {0, 1, 3});
  kernels[0].traits.operands = {{}, {.constant_order = {0, 1}}};
  SeparatedKernels separated = separate_constants(
      std::move(kernels), [](size_t memory) { return memory == 1; },
      [](size_t memory) { return memory == 2; }, 4);
  ASSERT_EQ(separated.arranged.size(), 1U);
  EXPECT_EQ(separated.arranged[0].bytes(), kDepth * kColumns);
  const GraphProgram built = built_graph(separated.others, {0, 3, 4}, {});
  const int64_t others = 2 * kRows * (kDepth + kColumns);
  EXPECT_EQ(simulate(*built.program).dma_bytes, kDepth * kColumns + others);
}

TEST(CastInProducts, ACastThatSomethingElseReadsStays) {
  const std::vector<int64_t> shape{kColumns, kDepth};
  const GraphKernel reader =
      pointwise([](Expression& e) { return e.input(0) * 2.0; },
                {tensor_in(2, shape, {}, 0, Dtype::kBfloat16)}, tensor_in(4, shape));
  EXPECT_EQ(cast_in({cast(), product(), reader}, {0, 1, 3, 4}).size(), 3U);
  EXPECT_EQ(cast_in({cast(), product()}, {0, 1, 2, 3}).size(), 2U);
}

TEST(CastInProducts, ACastOfBytesThatChangeBeforeTheProductStays) {
  const GraphTensor bytes = tensor_in(1, {kColumns, kDepth}, {}, 0, Dtype::kInt8);
  const GraphKernel change =
      pointwise([](Expression& e) { return e.input(0) + 1.0; }, {bytes}, bytes);
  EXPECT_EQ(cast_in({cast(), change, product()}, {0, 1, 3}).size(), 3U);
  EXPECT_EQ(cast_in({change, cast(), product()}, {0, 1, 3}).size(), 2U);
}

TEST(CastInProducts, AProductOfTheWeightByItselfReadsTheCast) {
  const GraphTensor square = tensor_in(3, {kColumns, kColumns}, {}, 0, Dtype::kBfloat16);
  const GraphTensor rows = tensor_in(2, {kColumns, kDepth}, {}, 0, Dtype::kBfloat16);
  EXPECT_EQ(
      cast_in({cast(), product_of({rows, weight(2, Dtype::kBfloat16)}, square)}, {1, 3}).size(),
      2U);
}

}  // namespace
}  // namespace neuron_sim
