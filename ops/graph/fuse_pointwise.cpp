#include "ops/graph/fuse_pointwise.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "ops/graph/pointwise_chain.h"

namespace neuron_sim {
namespace {

/// A place in the order of kernels: a kernel that is not pointwise, a chain, or a removed node.
struct Node {
  GraphKernel kernel;
  std::optional<PointwiseChain> chain;
  bool removed = false;

  const std::vector<GraphTensor>& operands() const {
    return chain ? chain->operands : kernel.operands;
  }
  const std::vector<GraphTensor>& results() const {
    return chain ? chain->results : kernel.results;
  }
};

/// Whether their order must be kept.
bool depend(const Node& a, const Node& b) {
  return touches(a.results(), b.operands()) || touches(a.operands(), b.results()) ||
         touches(a.results(), b.results());
}

class Fusion {
 public:
  Fusion(std::vector<GraphKernel> kernels, const std::function<bool(size_t memory)>& is_external)
      : is_external_(is_external) {
    for (GraphKernel& kernel : kernels) {
      std::optional<PointwiseChain> chain = chain_of(kernel);
      nodes_.push_back({std::move(kernel), std::move(chain)});
      note(nodes_.size() - 1);
    }
  }

  std::vector<GraphKernel> run() && {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      size_t at = i;
      while (nodes_[at].chain && join_producer(at)) {
      }
    }
    std::vector<GraphKernel> kernels;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].removed) continue;
      GraphKernel& first = nodes_[i].kernel;
      if (nodes_[i].chain) {
        kernels.push_back(nodes_[i].chain->kernel(first.name));
        kernels.back().source = std::move(first.source);
      } else {
        kernels.push_back(std::move(first));
      }
    }
    return kernels;
  }

 private:
  /// Records which nodes use which memory.
  void note(size_t node) {
    for (const GraphTensor& operand : nodes_[node].operands())
      readers_[operand.memory].insert(node);
    for (const GraphTensor& result : nodes_[node].results()) writers_[result.memory].insert(node);
  }

  /// Chains before `at` that may compute an operand of it, the last one first.
  std::vector<size_t> producers(size_t at) const {
    std::set<size_t, std::greater<>> found;
    for (const GraphTensor& operand : nodes_[at].operands()) {
      const auto writers = writers_.find(operand.memory);
      if (writers == writers_.end()) continue;
      for (const size_t writer : writers->second) {
        if (writer < at && !nodes_[writer].removed && nodes_[writer].chain &&
            touches(nodes_[writer].results(), operand)) {
          found.insert(writer);
        }
      }
    }
    return {found.begin(), found.end()};
  }

  /// Joins the chain at `at` with one before it that computes an operand; `at` becomes its place.
  bool join_producer(size_t& at) {
    for (const size_t before : producers(at)) {
      const bool up = can_move(at, before), down = !up && can_move(before, at);
      if (!up && !down) continue;
      // In place: a result over an operand's other elements would be written before they are read.
      if (touches(nodes_[before].operands(), nodes_[at].results()) ||
          touches(nodes_[before].results(), nodes_[at].results())) {
        continue;
      }
      std::optional<PointwiseChain> chain = joined(*nodes_[before].chain, *nodes_[at].chain);
      if (!chain) continue;
      chain = chain->with_results(read_results(*chain, before, at));
      const size_t place = up ? before : at, other = up ? at : before;
      if (!is_bounded(*chain)) continue;
      nodes_[place].chain = std::move(chain);
      nodes_[other].chain.reset();
      nodes_[other].removed = true;
      note(place);
      at = place;
      return true;
    }
    return false;
  }

  /// Whether the node at `from` commutes with all nodes between it and `to`.
  bool can_move(size_t from, size_t to) const {
    for (size_t i = std::min(from, to) + 1; i < std::max(from, to); ++i) {
      if (!nodes_[i].removed && depend(nodes_[from], nodes_[i])) return false;
    }
    return true;
  }

  /// Which results of a chain are read elsewhere.
  std::vector<bool> read_results(const PointwiseChain& chain, size_t first, size_t second) const {
    std::vector<bool> read;
    for (const GraphTensor& result : chain.results) {
      read.push_back(is_read(result, first, second));
    }
    return read;
  }

  bool is_read(const GraphTensor& result, size_t first, size_t second) const {
    if (is_external_(result.memory)) return true;
    const auto readers = readers_.find(result.memory);
    if (readers == readers_.end()) return false;
    return std::any_of(readers->second.begin(), readers->second.end(), [&](size_t reader) {
      return reader > first && reader != second && !nodes_[reader].removed &&
             touches(nodes_[reader].operands(), result);
    });
  }

  static bool is_bounded(const PointwiseChain& chain) {
    return !chain.results.empty() && chain.expression.steps().size() <= kMaximumJoinedSteps &&
           chain.operands.size() <= kMaximumJoinedOperands &&
           chain.results.size() <= kMaximumJoinedResults;
  }

  std::vector<Node> nodes_;
  std::unordered_map<size_t, std::set<size_t>> readers_, writers_;  ///< by memory; may be outdated
  const std::function<bool(size_t memory)>& is_external_;
};

}  // namespace

std::vector<GraphKernel> fuse_pointwise(std::vector<GraphKernel> kernels,
                                        const std::function<bool(size_t memory)>& is_external) {
  return Fusion(std::move(kernels), is_external).run();
}

}  // namespace neuron_sim
