#include "ops/graph/fuse_products.h"

#include "device/timeline/timeline.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{131, 530};  // more than a tile each way

GraphTensor whole(size_t memory, Dtype dtype = Dtype::kFloat32) {
  return tensor_in(memory, kShape, {}, 0, dtype);
}

/// memory 2 = memory 0 @ memory 1
GraphKernel product(const MatrixProductOptions& options = {}) {
  return product_of({tensor_in(0, {131, 9}), tensor_in(1, {9, 530})}, whole(2), options);
}

GraphKernel apply(const WriteExpression& write, std::vector<GraphTensor> operands,
                  const GraphTensor& to) {
  return pointwise(write, std::move(operands), to);
}

size_t left(const std::vector<GraphKernel>& kernels, const External& external) {
  return joined_kernels(kernels, external,
                        random_memories({131 * 9, 9 * 530, 131 * 530, 131 * 530, 131 * 530}));
}

TEST(FuseProducts, AChainAfterAProductIsAppliedAsItLeavesPsum) {
  const GraphKernel chain =
      apply([](Expression& e) { return call(Activation::kTanh, e.input(0) * 0.5) * e.input(1); },
            {whole(2), whole(3)}, whole(4));
  EXPECT_EQ(left({product(), chain}, {0, 1, 3, 4}), 1U);
}

TEST(FuseProducts, AfterTheFunctionOfTheProduct) {
  const GraphKernel less =
      apply([](Expression& e) { return e.input(0) - 1.0; }, {whole(2)}, whole(4));
  MatrixProductOptions options;
  options.activation = Activation::kRelu;
  options.scale = 0.25;
  EXPECT_EQ(left({product(options), less}, {0, 1, 4}), 1U);
}

TEST(FuseProducts, ResultsAreRoundedToTheirOwnDtype) {
  const GraphKernel twice =
      apply([](Expression& e) { return e.input(0) * 2.0; }, {whole(2)}, whole(4, Dtype::kBfloat16));
  EXPECT_EQ(left({product(), twice}, {0, 1, 4}), 1U);
}

TEST(FuseProducts, OtherOperandsMayRepeatOrBeTheProductTwice) {
  const GraphKernel square =
      apply([](Expression& e) { return e.input(0) * e.input(1); }, {whole(2), whole(2)}, whole(4));
  EXPECT_EQ(left({product(), square}, {0, 1, 4}), 1U);
  const GraphKernel bias = apply([](Expression& e) { return e.input(0) + e.input(1); },
                                 {whole(2), tensor_in(3, kShape, {0, 1})}, whole(4));
  EXPECT_EQ(left({product(), bias}, {0, 1, 3, 4}), 1U);
}

/// Bytes that out = (a @ b) * scale moves, where the scale is a row; a [rows, 9], b [9, 40].
int64_t bytes_of_scaled_product(int64_t rows) {
  const std::vector<int64_t> shape{rows, 40};
  const GraphTensor sums = tensor_in(2, shape);
  const GraphKernel product = product_of({tensor_in(0, {rows, 9}), tensor_in(1, {9, 40})}, sums);
  const GraphKernel scale = apply([](Expression& e) { return e.input(0) * e.input(1); },
                                  {sums, tensor_in(3, shape, {0, 1})}, tensor_in(4, shape));
  return simulate(*built_graph({product, scale}, {0, 1, 3, 4}, {.passes = {}}).program).dma_bytes;
}

TEST(FuseProducts, ARowThatManyRowTilesShareIsLoadedOnce) {
  const auto others = [](int64_t rows) { return rows * 9 + 9 * 40 + rows * 40; };
  // To each of 128 partitions, not for each of 2049 rows.
  EXPECT_EQ(bytes_of_scaled_product(2049), 4 * (others(2049) + 128 * 40));
  EXPECT_EQ(bytes_of_scaled_product(2048), 4 * (others(2048) + 2048 * 40));
}

TEST(FuseProducts, AResultThatIsReadElsewhereStays) {
  const GraphKernel twice =
      apply([](Expression& e) { return e.input(0) * 2.0; }, {whole(2)}, whole(4));
  EXPECT_EQ(left({product(), twice}, {0, 1, 2, 4}), 2U) << "after the graph";
}

TEST(FuseProducts, APartOfTheResultOrIntegersStayApart) {
  const GraphKernel part = apply([](Expression& e) { return e.input(0) * 2.0; },
                                 {tensor_in(2, {100, 530})}, tensor_in(4, {100, 530}));
  EXPECT_EQ(left({product(), part}, {0, 1, 4}), 2U);
  const GraphKernel whole_numbers =
      apply([](Expression& e) { return e.round(e.input(0)); }, {whole(2)}, whole(4, Dtype::kInt32));
  EXPECT_EQ(left({product(), whole_numbers}, {0, 1, 4}), 2U);
}

TEST(FuseProducts, SumsThatGpSimdReadsStayApartAndValuesOfSbufDoNot) {
  const auto chain = [](bool of_sums) {
    return apply(
        [&](Expression& e) {
          return e.alu(AluOp::kPower, of_sums ? e.input(0) : e.input(0) * 0.5, e.constant(3));
        },
        {whole(2)}, whole(4));
  };
  EXPECT_EQ(left({product(), chain(true)}, {0, 1, 4}), 2U);
  EXPECT_EQ(left({product(), chain(false)}, {0, 1, 4}), 1U);
}

TEST(FuseProducts, AnOperandThatIsComputedBetweenStaysBefore) {
  const GraphKernel other =
      apply([](Expression& e) { return e.input(0) + 1.0; }, {whole(3)}, whole(4));
  const GraphKernel both =
      apply([](Expression& e) { return e.input(0) * e.input(1); }, {whole(2), whole(4)}, whole(4));
  GraphKernel opaque = other;
  opaque.traits = {};
  EXPECT_EQ(left({product(), opaque, both}, {0, 1, 3, 4}), 3U);
}

}  // namespace
}  // namespace neuron_sim
