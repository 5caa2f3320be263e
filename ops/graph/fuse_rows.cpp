#include "ops/graph/fuse_rows.h"

#include <algorithm>

#include "ops/graph/kernels/row_chain.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

/// Tensors of a joined row program, at most: each takes up two rows of every partition.
constexpr size_t kMaximumTensors = 12;

class RowFusion {
 public:
  explicit RowFusion(Graph& graph) : graph_(graph), kernels_(graph.kernels) {}

  void run() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      size_t at = i;
      while (is_program(at) && (join_before(at) || join_after(at))) {
      }
      if (is_program(at)) drop_results(at);
    }
    drop_joined(graph_);
  }

 private:
  bool is_program(size_t at) const { return kernels_[at].traits.as<RowProgram>() != nullptr; }

  /// Takes in a pointwise kernel before the row program at `at`, which may move to its place.
  bool join_before(size_t& at) {
    for (size_t i = at; i-- > 0;) {
      if (!kernels_[i].traits.as<Expression>() || !feeds(kernels_[i], kernels_[at])) continue;
      const bool up = can_move(kernels_, at, i);
      if (!up && !can_move(kernels_, i, at)) continue;
      const auto joined = after_pointwise(kernels_[i], kernels_[at]);
      if (!joined || !replace(up ? i : at, up ? at : i, *joined)) continue;
      if (up) at = i;
      return true;
    }
    return false;
  }

  bool join_after(size_t at) {
    for (size_t i = at + 1; i < kernels_.size(); ++i) {
      if (!kernels_[i].traits.as<Expression>() || !feeds(kernels_[at], kernels_[i])) continue;
      if (!can_move(kernels_, i, at)) continue;
      const auto joined = before_pointwise(kernels_[at], kernels_[i]);
      if (joined && replace(at, i, *joined)) return true;
    }
    return false;
  }

  /// Puts `joined` at `place` and nothing at `other`, if there is room for its rows.
  bool replace(size_t place, size_t other, const GraphKernel& joined) {
    GraphKernel old = std::move(kernels_[place]), gone = std::move(kernels_[other]);
    kernels_[place] = joined;
    kernels_[other] = {};
    drop_results(place);
    if (fits(kernels_[place])) return true;
    kernels_[place] = std::move(old);
    kernels_[other] = std::move(gone);
    return false;
  }

  bool fits(const GraphKernel& kernel) const {
    if (kernel.operands.size() + kernel.results.size() > kMaximumTensors) return false;
    Builder builder("row_fusion", graph_.architecture);
    const std::vector<HbmTensor> operands = declared(builder, kernel.operands);
    return fused_rows_fit(graph_.architecture, operands, declared(builder, kernel.results),
                          *kernel.traits.as<RowProgram>());
  }

  /// Results that nothing reads are not computed.
  void drop_results(size_t at) {
    std::vector<bool> kept;
    for (const GraphTensor& result : kernels_[at].results) {
      kept.push_back(is_read_after(graph_, at, result));
    }
    const auto left = std::count(kept.begin(), kept.end(), true);
    if (left > 0 && left < std::ssize(kept)) kernels_[at] = with_results(kernels_[at], kept);
  }

  Graph& graph_;
  std::vector<GraphKernel>& kernels_;
};

}  // namespace

void fuse_rows(Graph& graph) { RowFusion(graph).run(); }

}  // namespace neuron_sim
