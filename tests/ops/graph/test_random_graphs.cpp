// Graphs made at random: joined and compiled they leave the bytes that their kernels leave one by
// one, and the values that the host computes.

#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

constexpr int64_t kElements = 240;  ///< of a memory
constexpr size_t kMemories = 7;

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    for (size_t memory = 0; memory < kMemories; ++memory) {
      if (memory < 2 || random_.number(0, 2) == 0) external_.insert(memory);
    }
    // Scratch tensors have no contents: the first kernels write all of them.
    for (size_t memory = 2; memory < kMemories; ++memory) {
      const GraphTensor from = tensor_in(memory % 2, {kElements}),
                        to = tensor_in(memory, {kElements});
      kernels_.push_back(kernel_of(expression(1, 1), {from}, {to}));
    }
    const int64_t count = random_.number(5, 36);
    for (int64_t i = 0; i < count; ++i) add_kernel();
  }

  const std::vector<GraphKernel>& kernels() const { return kernels_; }
  const External& external() const { return external_; }
  const std::set<size_t>& hidden_places() const { return hidden_; }

 private:
  Expression expression(int inputs, int64_t results) {
    Expression e;
    std::vector<ElementValue> known;
    for (int i = 0; i < inputs; ++i) known.push_back(e.input(i));
    const int64_t steps = random_.number(1, 3);
    for (int64_t i = 0; i < steps; ++i) known.push_back(drawn(e, random_, known));
    known.back() = bounded(known.back());
    for (int64_t i = 0; i < results; ++i) {
      const auto at = static_cast<size_t>(random_.number(0, std::ssize(known) - 1));
      e.add_result(i == 0 ? known.back() : bounded(known[at]));
    }
    return e;
  }

  /// A shape whose elements fit a memory; most of them all of it.
  std::vector<int64_t> shape() {
    static const std::vector<std::vector<int64_t>> kShapes{
        {240},    {12, 20},   {20, 12}, {2, 6, 20}, {4, 60}, {60, 4}, {3, 1, 80}, {2, 2, 3, 20},
        {16, 15}, {6, 2, 20}, {120},    {6, 20},    {20},    {1},     {},         {12}};
    return kShapes[static_cast<size_t>(random_.number(0, std::ssize(kShapes) - 1))];
  }

  GraphTensor tensor(const std::vector<int64_t>& sizes, bool is_operand) {
    const auto memory = static_cast<size_t>(random_.number(is_operand ? 0 : 1, kMemories - 1));
    const bool dense = random_.number(0, 2) != 0;
    const std::vector<int64_t> strides =
        dense ? dense_strides(sizes) : random_.strides(sizes, is_operand && random_.number(0, 1));
    const int64_t spare = kElements - extent_of(sizes, strides);
    const int64_t first = random_.number(0, 2) == 0 ? random_.number(0, spare) : 0;
    return tensor_in(memory, sizes, strides, first);
  }

  /// Whether a kernel may write the result: nowhere but over operands of the same elements.
  static bool is_free(const GraphTensor& result, const std::vector<GraphTensor>& operands,
                      const std::vector<GraphTensor>& results) {
    const auto overlaps = [&](const GraphTensor& other) { return may_overlap(result, other); };
    return std::none_of(results.begin(), results.end(), overlaps) &&
           std::all_of(operands.begin(), operands.end(), [&](const GraphTensor& operand) {
             return operand == result || !overlaps(operand);
           });
  }

  void add_kernel() {
    // Often what the kernel before wrote, so that chains become long.
    const GraphTensor& last = kernels_.back().results[0];
    const bool follows = random_.number(0, 3) != 0;
    const std::vector<int64_t> sizes = follows ? last.shape : shape();
    std::vector<GraphTensor> operands, results;
    const int64_t inputs = random_.number(1, 3), outputs = random_.number(0, 3) == 0 ? 2 : 1;
    for (int64_t i = 0; i < inputs; ++i) {
      operands.push_back(follows && i == 0 ? last : tensor(sizes, true));
    }
    while (std::ssize(results) < outputs) {
      const bool in_place = random_.number(0, 5) == 0;
      GraphTensor result = in_place ? operands[0] : tensor(sizes, false);
      if (!repeats(result) && is_free(result, operands, results)) {
        results.push_back(std::move(result));
      }
    }
    if (random_.number(0, 7) == 0) hidden_.insert(kernels_.size());
    kernels_.push_back(kernel_of(expression(static_cast<int>(inputs), outputs), operands, results));
  }

  static bool repeats(const GraphTensor& tensor) {
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      if (tensor.strides[d] == 0 && tensor.shape[d] > 1) return true;
    }
    return false;
  }

  RandomLayouts random_;
  External external_;
  std::vector<GraphKernel> kernels_;
  std::set<size_t> hidden_;
};

TEST(RandomGraphs, KeepTheirValues) {
  size_t all = 0, joined = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    const RandomGraph graph(seed);
    const HostMemories before = random_memories(std::vector<int64_t>(kMemories, kElements), seed);
    const char* name = std::array{"trn1", "trn2", "trn3"}[seed % 3];
    all += graph.kernels().size();
    joined += kernels_left(graph.kernels(), graph.external(), before, graph.hidden_places(), name);
    if (HasFailure()) return;
  }
  EXPECT_LT(joined, all * 4 / 5) << "of " << all << " kernels";
}

}  // namespace
}  // namespace neuron_sim
