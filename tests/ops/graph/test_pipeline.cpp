#include "ops/graph/pipeline.h"

#include <cstdlib>

#include "device/base/errors.h"
#include "ops/graph/verify.h"
#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{5, 12};

/// memory 3 = row program of (memory 0 + memory 1), by way of memory 2.
std::vector<GraphKernel> sum_and_rows() {
  return {pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                    {tensor_in(0, kShape), tensor_in(1, kShape)}, tensor_in(2, kShape)),
          rows_of(centred(12), {tensor_in(2, kShape)},
                  {tensor_in(3, kShape), tensor_in(4, {5, 1}, {}, 0)})};
}
const External kOutside{0, 1, 3, 4};

/// What compiling the graph prints with NEURON_SIM_DUMP.
std::string dumped(const char* request, const GraphProgramOptions& options = {.passes = {}}) {
  setenv("NEURON_SIM_DUMP", request, 1);
  testing::internal::CaptureStderr();
  built_graph(sum_and_rows(), kOutside, options);
  unsetenv("NEURON_SIM_DUMP");
  return testing::internal::GetCapturedStderr();
}

TEST(GraphPipeline, PassesHaveOneNameEachAndFollowTheirStages) {
  std::set<std::string_view> names;
  GraphStage stage = GraphStage::kConstants;
  for (const GraphPass& pass : graph_pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_GE(pass.stage, stage) << pass.name;
    stage = pass.stage;
  }
}

TEST(GraphPipeline, PassesRunWhereTheOptionsMeetTheirNeeds) {
  for (const bool fuse : {false, true}) {
    for (const bool forwards : {false, true}) {
      GraphProgramOptions options{.fuse = fuse, .passes = {}};
      if (forwards) options.passes = {{"rename_buffers", 1}, {"forward_stores", 1}};
      const std::string printed = dumped("graph:after:all", options);
      for (const GraphPass& pass : graph_pipeline()) {
        const bool runs = pass.stage != GraphStage::kConstants && (!pass.needs.fusion || fuse) &&
                          (!pass.needs.forwarding || forwards);
        EXPECT_EQ(printed.find(text("after ", pass.name, ": ")) != std::string::npos, runs)
            << pass.name;
      }
    }
  }
}

TEST(GraphPipeline, KernelsOfAnyNameAreFused) {
  std::vector<GraphKernel> kernels = sum_and_rows();
  EXPECT_EQ(built_graph(kernels, kOutside, {}).kernels, 1U);
  for (GraphKernel& kernel : kernels) kernel.name = "renamed";
  EXPECT_EQ(built_graph(kernels, kOutside, {}).kernels, 1U);
}

TEST(GraphDump, ShowsTheKernelsAfterThePassThatIsAskedFor) {
  EXPECT_EQ(dumped("graph:after:fuse_pointwise"),
            "after fuse_pointwise: 2 kernels\n"
            "  kernel memory0+0 [5, 12] float32, memory1+0 [5, 12] float32 -> memory2+0 [5, 12] "
            "float32\n"
            "  rows memory2+0 [5, 12] float32 -> memory3+0 [5, 12] float32, memory4+0 [5, 1] "
            "float32\n");
  EXPECT_EQ(dumped("graph:after:fuse_rows"),
            "after fuse_rows: 1 kernels\n"
            "  rows memory0+0 [5, 12] float32, memory1+0 [5, 12] float32 -> memory3+0 [5, 12] "
            "float32, memory4+0 [5, 1] float32\n");
  EXPECT_EQ(dumped(""), "");
}

TEST(GraphDump, AnUnknownPassIsRefusedWithAllNames) {
  try {
    dumped("graph:after:sorting");
    FAIL() << "there is no such request";
  } catch (const KernelError& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("NEURON_SIM_DUMP is 'graph:after:sorting'; there are: graph:after:all, "
                        "graph:after:cast_in_products, "),
              0U);
  }
  testing::internal::GetCapturedStderr();
  unsetenv("NEURON_SIM_DUMP");
}

/// What is wrong after a pass that does `damage`.
std::string complaint(void (*damage)(Graph& graph), const GraphKeeps& keeps = {}) {
  Graph graph{sum_and_rows(), is_in(kOutside), load_architecture("trn2")};
  try {
    run_graph_pass({"damage", GraphStage::kFusions, {}, keeps, damage}, graph);
  } catch (const SimulatorBug& bug) {
    const std::string what = bug.what(), begin = "neuron_sim bug: after graph pass 'damage' ";
    EXPECT_EQ(what.find(begin), 0U) << what;
    return what.substr(begin.size());
  }
  return "";
}

TEST(GraphVerify, FindsWhatAPassBreaks) {
  EXPECT_EQ(complaint([](Graph&) {}, {.kernels = true}), "");
  EXPECT_EQ(complaint([](Graph& graph) { graph.kernels[0].operands[1].byte_offset = 4; }),
            "a tensor lies outside memory 1.");
  EXPECT_EQ(complaint([](Graph& graph) { std::swap(graph.kernels[0], graph.kernels[1]); }),
            "kernel 'rows' reads memory 2 before anything writes it.");
  EXPECT_EQ(complaint([](Graph& graph) { graph.kernels.pop_back(); }),
            "other bytes of external memories are written.");
}

TEST(GraphVerify, FindsWhatAPassDoesNotKeep) {
  void (*const rename)(Graph&) = [](Graph& graph) { graph.kernels[0].name = "sum"; };
  EXPECT_EQ(complaint(rename), "");
  EXPECT_EQ(complaint(rename, {.kernels = true}), "the kernels are others.");
}

TEST(GraphVerify, TraitsDescribeTheirKernels) {
  const auto objection = [](size_t place, const std::function<void(GraphKernel&)>& change) {
    GraphKernel kernel = sum_and_rows()[place];
    EXPECT_EQ(traits_objection(kernel), "");
    change(kernel);
    return traits_objection(kernel);
  };
  EXPECT_EQ(objection(0, [](GraphKernel& kernel) { kernel.operands.pop_back(); }),
            "reads an operand that it lacks");
  EXPECT_EQ(objection(0,
                      [](GraphKernel& kernel) {
                        kernel.operands[0].shape = {12, 5};
                      }),
            "is pointwise on tensors of several shapes");
  EXPECT_EQ(objection(0, [](GraphKernel& kernel) { kernel.traits.operands.resize(3); }),
            "has traits of operands that it does not have");
  EXPECT_EQ(objection(1, [](GraphKernel& kernel) { kernel.results.pop_back(); }),
            "is a row program of other results");
  EXPECT_EQ(objection(1, [](GraphKernel& kernel) { kernel.traits.needed_results = 3; }),
            "lacks a result that it must have");
  GraphKernel product =
      product_of({tensor_in(0, {5, 7}), tensor_in(1, {7, 12})}, tensor_in(2, kShape));
  EXPECT_EQ(traits_objection(product), "");
  product.traits.set(MatrixProductOptions{.others = 1});
  EXPECT_EQ(traits_objection(product), "is a product of other operands");
}

}  // namespace
}  // namespace neuron_sim
