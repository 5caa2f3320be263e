#include "ops/graph/turn_results.h"

#include "device/timeline/timeline.h"
#include "ops/attention/attention.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRows = 130, kDepth = 20, kColumns = 192;
constexpr Dtype kHalf = Dtype::kBfloat16;

GraphTensor matrix(size_t memory, int64_t rows, int64_t columns) {
  return tensor_in(memory, {rows, columns}, {}, 0, kHalf);
}

/// memory `to` = memory `from` @ memory 1 + the row in memory 2.
GraphKernel first(size_t from = 0, size_t to = 3, int64_t rows = kRows) {
  return product_of({matrix(from, rows, kDepth), matrix(1, kDepth, kColumns),
                     tensor_in(2, {rows, kColumns}, {0, 1}, 0, kHalf)},
                    matrix(to, rows, kColumns));
}
/// memory 5 = memory 3 @ memory 4.
GraphKernel second(int64_t rows = kRows) {
  return product_of({matrix(3, rows, kColumns), matrix(4, kColumns, 30)}, matrix(5, rows, 30));
}

const External kOutside{0, 1, 2, 4, 5, 6};

HostMemories memories() {
  return random_memories({140 * kDepth, kDepth * kColumns, kColumns, 140 * kColumns, kColumns * 30,
                          140 * kColumns, 140 * kColumns, 140 * kColumns});
}

/// Whether memory 3 is written by columns; the external memories get the same bytes either way.
bool turns(const std::vector<GraphKernel>& kernels, const External& external = kOutside,
           const char* name = "trn1") {
  const auto turned = after("turn_results", kernels, is_in(external), name);
  HostMemories expected = memories(), actual = memories();
  run_graph(built_graph(kernels, external, plain(), name), expected);
  run_graph(built_graph(turned, external, plain(), name), actual);
  for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]);
  return turned[0].results[0].strides[0] == 1;
}

TEST(TurnResults, WhatProductsContractIsWrittenByColumns) {
  EXPECT_TRUE(turns({first(), second()}));
  EXPECT_TRUE(turns({first(), second()}, kOutside, "trn2"));
  GraphKernel again = second();
  again.results[0].memory = 6;
  EXPECT_TRUE(turns({first(), second(), again})) << "by all of its readers";
}

TEST(TurnResults, OfFewerRowsThanPartitionsStaysByRows) {
  EXPECT_TRUE(turns({first(0, 3, 128), second(128)}));
  EXPECT_FALSE(turns({first(0, 3, 127), second(127)}));
}

TEST(TurnResults, WhatAnythingElseReadsStaysByRows) {
  External external = kOutside;
  external.insert(3);
  EXPECT_FALSE(turns({first(), second()}, external)) << "the caller";
  const GraphKernel copy = pointwise([](Expression& e) { return e.input(0); },
                                     {matrix(3, kRows, kColumns)}, matrix(6, kRows, kColumns));
  EXPECT_FALSE(turns({first(), copy, second()})) << "a kernel that goes over its rows";
  const GraphKernel moving =
      product_of({matrix(6, 30, kRows), matrix(3, kRows, kColumns)}, matrix(5, 30, kColumns));
  EXPECT_FALSE(turns({first(), moving})) << "a product that contracts its rows";
  EXPECT_FALSE(turns({first()}, {0, 1, 2})) << "nothing";
}

TEST(TurnResults, WhatAnotherKernelWritesStaysByRows) {
  EXPECT_FALSE(turns({first(), first(), second()}));
}

TEST(TurnResults, AProductOfOtherOperandsStaysByRows) {
  GraphKernel residual = first();
  residual.operands[2] = matrix(6, kRows, kColumns);
  EXPECT_FALSE(turns({residual, second()}));
}

/// memory 5 = memory `from` of 3 heads of 64 as one attends to itself.
GraphKernel attention(const std::array<size_t, 3>& from) {
  std::vector<GraphTensor> operands;
  for (const size_t memory : from) {
    operands.push_back(tensor_in(memory, {1, 3, 1, kRows, 64}, {0, 64, 0, kColumns, 1}, 0, kHalf));
  }
  return kernel_of(kAttention, {0.125}, operands,
                   {tensor_in(5, {1, 3, 1, kRows, 64}, {0, 64, 0, kColumns, 1}, 0, kHalf)});
}

TEST(TurnResults, QueriesAndKeysOfAttentionAreWrittenByColumnsButNoValues) {
  EXPECT_TRUE(turns({first(0, 3), first(0, 7), attention({3, 7, 6})}));
  EXPECT_TRUE(turns({first(0, 3), first(0, 7), attention({7, 3, 6})}));
  EXPECT_FALSE(turns({first(0, 3), first(0, 7), attention({7, 6, 3})}));
  EXPECT_FALSE(turns({first(0, 3), attention({3, 6, 3})})) << "both";
}

TEST(TurnResults, SlicesOfTheRowsAndOfTheColumnsAreFoundAgain) {
  GraphKernel part = second(7);
  part.operands[0] = tensor_in(3, {7, 64}, {kColumns, 1}, 9 * kColumns + 128, kHalf);
  part.operands[1] = matrix(4, 64, 30);
  EXPECT_TRUE(turns({first(), part}));
  part.operands[0].strides = {2 * kColumns, 1};
  EXPECT_TRUE(turns({first(), part})) << "every other row";
  part.operands[0] = tensor_in(3, {64, 64}, {kColumns + 1, 1}, 0, kHalf);
  part.operands[0].shape[0] = 7;
  EXPECT_FALSE(turns({first(), part})) << "a diagonal";
}

TEST(TurnResults, TheSecondProductThenTransposesNothing) {
  const auto time = [](bool contracts) {
    constexpr int64_t kWide = 1024;
    const GraphKernel one = product_of(
        {matrix(0, 256, 512), matrix(1, 512, kWide), tensor_in(2, {256, kWide}, {0, 1}, 0, kHalf)},
        matrix(3, 256, kWide));
    const GraphKernel two =
        product_of({matrix(3, 256, kWide), matrix(4, kWide, 512)}, matrix(5, 256, 512));
    const External external = contracts ? kOutside : External{0, 1, 2, 3, 4, 5};
    return simulate(*built_graph({one, two}, external, {}, "trn1").program).body.nanoseconds();
  };
  EXPECT_LT(time(true), 0.9 * time(false));
}

TEST(TurnResults, ABiasIsAnActivationWhereTheVendorsCompilerMakesItOne) {
  const auto count = [](const char* architecture, const char* instruction) {
    const auto turned = after("turn_results", {first(), second()}, is_in(kOutside), architecture);
    const GraphProgram built = built_graph(turned, kOutside, {.fuse = false}, architecture);
    return count_of(*built.program, instruction);
  };
  const int tiles = 2;  // of 192 columns
  EXPECT_EQ(count("trn1", "activation"), tiles);
  EXPECT_EQ(count("trn1", "tensor_scalar"), 0);
  EXPECT_EQ(count("trn2", "activation"), 0);
  EXPECT_EQ(count("trn2", "tensor_scalar"), tiles);
}

}  // namespace
}  // namespace neuron_sim
