#include "ops/graph/fuse_pointwise.h"

#include <algorithm>
#include <optional>

#include "ops/graph/kernels/pointwise_chain.h"

namespace neuron_sim {
namespace {

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph), kernels_(graph.kernels) {}

  void run() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      size_t at = i;
      while (join_producer(at)) {
      }
    }
    drop_joined(graph_);
  }

 private:
  /// Joins the chain at `at` with the last one before it that computes an operand and fits; `at`
  /// becomes its place.
  bool join_producer(size_t& at) {
    const std::optional<PointwiseChain> own = chain_of(kernels_[at]);
    for (size_t before = at; own && before-- > 0;) {
      // In place: a result over an operand's other elements would be written before they are read.
      if (!feeds(kernels_[before], kernels_[at])) continue;
      const bool up = can_move(kernels_, at, before);
      if (!up && !can_move(kernels_, before, at)) continue;
      const std::optional<PointwiseChain> first = chain_of(kernels_[before]);
      std::optional<PointwiseChain> chain = first ? joined(*first, *own) : std::nullopt;
      if (!chain) continue;
      chain = chain->with_results(read_results(*chain, before, at));
      if (!is_bounded(*chain)) continue;
      GraphKernel kernel = chain->kernel(kernels_[up ? before : at].name);
      kernel.source = kernels_[up ? before : at].source;
      kernels_[up ? at : before] = {};
      if (up) at = before;
      kernels_[at] = std::move(kernel);
      return true;
    }
    return false;
  }

  /// Which results of a chain are read elsewhere.
  std::vector<bool> read_results(const PointwiseChain& chain, size_t first, size_t second) const {
    std::vector<bool> read;
    for (const GraphTensor& result : chain.results) {
      bool is_read = graph_.is_external(result.memory);
      for (size_t i = first + 1; i < kernels_.size() && !is_read; ++i) {
        is_read = i != second && touches(kernels_[i].operands, result);
      }
      read.push_back(is_read);
    }
    return read;
  }

  static bool is_bounded(const PointwiseChain& chain) {
    return !chain.results.empty() && chain.expression.steps().size() <= kMaximumJoinedSteps &&
           chain.operands.size() <= kMaximumJoinedOperands &&
           chain.results.size() <= kMaximumJoinedResults;
  }

  Graph& graph_;
  std::vector<GraphKernel>& kernels_;
};

}  // namespace

void fuse_pointwise(Graph& graph) { Fusion(graph).run(); }

}  // namespace neuron_sim
