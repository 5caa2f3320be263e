#include "ops/graph/gate_products.h"

#include "device/timeline/timeline.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

/// memory 3 = product(memory 0 @ memory 2, function(memory 0 @ memory 1)), by way of memory 4.
struct GatedMlp {
  int64_t rows = 130, depth = 70, columns = 600;
  Dtype dtype = Dtype::kBfloat16;
  int64_t batch = 1;
  bool weights_by_columns = false, has_biases = false;
  Activation function = Activation::kSilu;
  MatmulOptions matmul{};

  GraphTensor tensor(size_t memory, int64_t rows_of, int64_t columns_of) const {
    return tensor_in(memory, {batch, rows_of, columns_of}, {}, 0, dtype);
  }
  GraphTensor result(size_t memory) const { return tensor(memory, rows, columns); }
  GraphKernel product(size_t weight, const GraphTensor& to) const {
    GraphTensor b = tensor(weight, depth, columns);
    if (weights_by_columns) b.strides = {depth * columns, 1, depth};
    std::vector<GraphTensor> operands{tensor(0, rows, depth), b};
    if (has_biases) {
      const auto first = static_cast<int64_t>(weight);
      operands.push_back(tensor_in(5, to.shape, {0, 0, 1}, first, dtype));
    }
    return product_of(operands, to, {.matmul = matmul});
  }
  /// The gate applies the function; the second kernel multiplies by it.
  std::vector<GraphKernel> kernels() const {
    GraphKernel gate = product(1, result(4)), second = product(2, result(6));
    const GraphKernel activation = pointwise(
        [&](Expression& e) { return call(function, e.input(0)); }, {result(4)}, result(7));
    const GraphKernel both = pointwise([](Expression& e) { return e.input(0) * e.input(1); },
                                       {result(7), result(6)}, result(3));
    return after("fuse_products", {gate, activation, second, both}, is_in(outside()));
  }
  static External outside() { return {0, 1, 2, 3, 5}; }
  HostMemories memories() const {
    const int64_t out = batch * rows * columns, weight = batch * depth * columns;
    return random_memories({batch * rows * depth, weight, weight, out, out, columns + 8, out, out});
  }
};

std::vector<GraphKernel> gated(const std::vector<GraphKernel>& kernels,
                               const External& external = GatedMlp::outside(), int64_t room = 0) {
  Graph graph{kernels, is_in(external), load_architecture("trn1")};
  gate_products(graph, room);
  return graph.kernels;
}

/// The graph in one kernel has the bytes of the graph in two, compiled or not.
void expect_same_bytes(const GatedMlp& mlp) {
  const std::vector<GraphKernel> two = mlp.kernels(), one = gated(two);
  ASSERT_EQ(two.size(), 2U);
  ASSERT_EQ(one.size(), 1U);
  for (const char* const name : {"trn1", "trn2"}) {
    HostMemories expected = mlp.memories();
    run_graph(built_graph(two, GatedMlp::outside(), plain(), name), expected);
    for (const GraphProgramOptions& options : {plain(), GraphProgramOptions{.fuse = false}}) {
      HostMemories actual = mlp.memories();
      run_graph(built_graph(one, GatedMlp::outside(), options, name), actual);
      EXPECT_EQ(actual[3], expected[3])
          << name << (options.passes == PassSettings{} ? "" : ", compiled");
    }
  }
}

TEST(GateProducts, TheBytesAreThoseOfTwoKernelsForAnyFunctionAndDtype) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const Activation function : {Activation::kIdentity, Activation::kSilu,
                                      Activation::kGeluApproximateTanh, Activation::kRelu}) {
      expect_same_bytes({.dtype = dtype, .function = function});
    }
  }
}

TEST(GateProducts, OfBatchesBiasesAndTurnedWeightsToo) {
  expect_same_bytes({.batch = 3, .has_biases = true});
  expect_same_bytes({.columns = 5, .weights_by_columns = true, .has_biases = true});
  expect_same_bytes({.rows = 128, .depth = 1, .columns = 2});
}

TEST(GateProducts, InPanelsOfColumnsAndOfTheContractedDimension) {
  expect_same_bytes({.columns = 1100, .matmul = {.panel_columns = 512}});
  expect_same_bytes({.rows = 600, .depth = 300, .columns = 260, .matmul = {.panel_rows = 128}});
  expect_same_bytes({.depth = 2048, .columns = 1100});  // keeps the rows of the left operand
}

TEST(GateProducts, OnlyProductsOfOneInputWithEqualWeightsAreJoined) {
  const std::vector<GraphKernel> two = GatedMlp{}.kernels();
  std::vector<GraphKernel> other = two;
  other[1].operands[0].memory = 8;
  EXPECT_EQ(gated(other).size(), 2U) << "another input";
  other = two;
  other[1].operands[1].strides = {70 * 600, 1, 70};
  EXPECT_EQ(gated(other).size(), 2U) << "weights in another layout";
  other = two;
  other[1].results[0].strides = {130 * 600, 1, 130};
  EXPECT_EQ(gated(other).size(), 2U) << "a result by columns";
  EXPECT_EQ(gated(GatedMlp{.columns = 1}.kernels()).size(), 2U) << "as one column is";
}

TEST(GateProducts, AGateThatIsReadElsewhereStays) {
  const std::vector<GraphKernel> two = GatedMlp{}.kernels();
  External external = GatedMlp::outside();
  external.insert(7);
  EXPECT_EQ(gated(two, external).size(), 2U) << "by the caller";
  std::vector<GraphKernel> more = two;
  more.push_back(pointwise([](Expression& e) { return e.input(0) + 1.0; }, {two[0].results[0]},
                           tensor_in(0, {1, 130, 600}, {}, 0, Dtype::kBfloat16)));
  EXPECT_EQ(gated(more).size(), 3U) << "by a third kernel";
}

TEST(GateProducts, OfFewerRowsThanPartitionsStayApart) {
  EXPECT_EQ(gated(GatedMlp{.rows = 128}.kernels()).size(), 1U);
  EXPECT_EQ(gated(GatedMlp{.rows = 127}.kernels()).size(), 2U);
}

TEST(GateProducts, AGateThatHasRoomBesideTheTilesOfItsReaderStaysApart) {
  const std::vector<GraphKernel> two = GatedMlp{}.kernels();
  Builder builder("product", load_architecture("trn1"));
  two[1].emit(builder, declared(builder, two[1].operands), declared(builder, two[1].results));
  const int64_t needed = builder.finish()->sbuf_peak + 130 * 600 * 2 / 128;
  EXPECT_EQ(gated(two, GatedMlp::outside(), needed).size(), 2U);
  EXPECT_EQ(gated(two, GatedMlp::outside(), needed - 1).size(), 1U);
}

TEST(GateProducts, AGateThatSbufCannotKeepBesideTheWeightsNoLongerCrossesHbm) {
  const GatedMlp mlp{.rows = 512, .depth = 2048, .columns = 8192};
  const auto program = [&](const std::vector<GraphKernel>& kernels, bool fuse) {
    return built_graph(kernels, GatedMlp::outside(), {.fuse = fuse}, "trn1").program;
  };
  const std::vector<GraphKernel> two = mlp.kernels();
  const auto apart = simulate(*program(two, false)), chosen = simulate(*program(two, true));
  const int64_t weights = 2 * 2048 * 8192 * 2, gate = 512 * 8192 * 2, input = 512 * 2048 * 2;
  EXPECT_GE(apart.dma_bytes, weights + input + 2 * gate);
  EXPECT_EQ(chosen.dma_bytes, weights + input + gate) << "the result alone";
  EXPECT_LT(chosen.body, apart.body);
}

}  // namespace
}  // namespace neuron_sim
