#include "ops/graph/follow_products.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "ops/blocks/axis_windows.h"
#include "ops/graph/kernels/iteration_space.h"
#include "ops/graph/kernels/pointwise_chain.h"
#include "ops/pointwise/compose.h"

namespace neuron_sim {
namespace {

/// What the engines next to PSUM compute without predicates and integers.
bool is_arithmetic(const Expression* expression) {
  const auto computes = [](const ExpressionStep& step) {
    switch (step.kind) {
      case ExpressionKind::kAlu: return is_vector_operator(step.alu) && !is_bitwise(step.alu);
      case ExpressionKind::kSelect:
      case ExpressionKind::kRound:
      case ExpressionKind::kCopySign: return false;
      default: return true;
    }
  };
  return expression != nullptr && expression->domain() == Domain::kFloat &&
         std::all_of(expression->steps().begin(), expression->steps().end(), computes);
}

/// Dimensions of `tensor`, longest stride first.
std::vector<size_t> by_stride(const GraphTensor& tensor) {
  std::vector<size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  return order;
}

/// Takes dimensions of `size` elements off the front of `space` and merges them; empty when they
/// are not neighbours in all tensors.
std::optional<SharedDimension> merge_front(IterationSpace& space, int64_t size) {
  if (space.empty()) return std::nullopt;
  SharedDimension merged = space.front();
  space.erase(space.begin());
  while (merged.size < size && !space.empty()) {
    const SharedDimension inner = space.front();
    space.erase(space.begin());
    for (size_t t = 0; t < merged.strides.size(); ++t) {
      if (merged.strides[t] != inner.strides[t] * inner.size) return std::nullopt;
    }
    merged = {merged.size * inner.size, inner.strides};
  }
  if (merged.size != size) return std::nullopt;
  return merged;
}

/// The strides of every tensor of `chain` (operands, then results) along the dimensions of
/// `result`, which is its operand `link`.
std::optional<std::vector<std::vector<int64_t>>> strides_along(const GraphTensor& result,
                                                               const PointwiseChain& chain,
                                                               size_t link) {
  IterationSpace space;
  for (size_t d = 0; d < result.shape.size(); ++d) {
    space.push_back({result.shape[d], {result.strides[d]}});
  }
  auto spaces = matched(std::move(space), 0, chain.space, link);
  if (!spaces) return std::nullopt;
  const size_t tensors = chain.operands.size() + chain.results.size();
  std::vector<std::vector<int64_t>> strides(tensors, std::vector<int64_t>(result.shape.size()));
  for (const size_t d : by_stride(result)) {
    if (result.shape[d] == 1) continue;
    const auto dimension = merge_front(spaces->second, result.shape[d]);
    if (!dimension) return std::nullopt;
    for (size_t t = 0; t < tensors; ++t) strides[t][d] = dimension->strides[t];
  }
  return strides;
}

/// The kernel as one that applies the chain, whose operand `link` is its result.
std::optional<GraphKernel> followed(const GraphKernel& kernel, const PointwiseChain& chain,
                                    size_t link) {
  const GraphTensor& result = kernel.results.front();
  const auto strides = strides_along(result, chain, link);
  if (!strides) return std::nullopt;
  GraphKernel joined = kernel;
  joined.results.clear();
  joined.traits.followed = nullptr;
  const auto along = [&](GraphTensor tensor, size_t index) {
    tensor.shape = result.shape;
    tensor.strides = (*strides)[index];
    return tensor;
  };
  Expression expression(chain.expression.domain());
  std::vector<ElementValue> inputs;
  int next = 1;
  for (size_t i = 0; i < chain.operands.size(); ++i) {
    inputs.push_back(expression.input(i == link ? 0 : next++));
    if (i == link) continue;
    joined.operands.push_back(along(chain.operands[i], i));
  }
  for (const ElementValue value : append_steps(expression, chain.expression, inputs)) {
    expression.add_result(value);
  }
  for (size_t r = 0; r < chain.results.size(); ++r) {
    joined.results.push_back(along(chain.results[r], chain.operands.size() + r));
  }
  const size_t own = kernel.operands.size();
  joined.traits.operands.resize(own);
  joined.traits.operands.resize(joined.operands.size(), {.batched = kernel.traits.is_batched()});
  const EmitPooled emit = [emit = kernel.traits.followed, expression,
                           own](Builder& builder, HbmTensors operands, HbmTensors results,
                                const InnerWindows& pooling) {
    emit(builder, operands.first(own), operands.subspan(own), results, expression, pooling);
  };
  joined.emit = [emit](Builder& builder, HbmTensors operands, HbmTensors results) {
    emit(builder, operands, results, {});
  };
  if (joined.results.size() == 1) joined.traits.pooled = emit;
  return joined;
}

class Following {
 public:
  explicit Following(Graph& graph) : graph_(graph), kernels_(graph.kernels) {}

  void run() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (is_arithmetic(kernels_[i].traits.as<Expression>())) join(i);
    }
    drop_joined(graph_);
  }

 private:
  void join(size_t at) {
    const std::optional<PointwiseChain> chain = chain_of(kernels_[at]);
    if (!chain) return;
    for (size_t before = at; before-- > 0;) {
      const auto link = link_of(kernels_[before], *chain);
      if (!link || !is_private(kernels_[before].results.front(), before, at)) continue;
      const bool up = can_move(kernels_, at, before);
      if (!up && !can_move(kernels_, before, at)) continue;
      std::optional<GraphKernel> kernel = followed(kernels_[before], *chain, *link);
      if (!kernel || !can_emit(*kernel, graph_.architecture)) continue;
      kernels_[up ? at : before] = {};
      kernels_[up ? before : at] = std::move(*kernel);
      return;
    }
  }

  /// The operand of the chain that is the result of the kernel, if it can be followed.
  static std::optional<size_t> link_of(const GraphKernel& kernel, const PointwiseChain& chain) {
    if (!kernel.traits.followed || kernel.results.size() != 1) return std::nullopt;
    const GraphTensor& result = kernel.results.front();
    std::optional<size_t> link;
    for (size_t i = 0; i < chain.operands.size(); ++i) {
      if (!may_overlap(chain.operands[i], result)) continue;
      const bool same = chain.operands[i].byte_offset == result.byte_offset &&
                        chain.operands[i].dtype == result.dtype;
      if (link || !same) return std::nullopt;
      link = i;
    }
    // Results over operands or sums would be written while those are still read.
    const bool in_place =
        touches(chain.results, kernel.operands) || touches(chain.results, chain.operands);
    return in_place ? std::nullopt : link;
  }

  /// Whether nothing but the kernels `before` and `at` touches the tensor.
  bool is_private(const GraphTensor& tensor, size_t before, size_t at) const {
    if (graph_.is_external(tensor.memory)) return false;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (i == before || i == at) continue;
      if (touches(kernels_[i].operands, tensor) || touches(kernels_[i].results, tensor)) {
        return false;
      }
    }
    return true;
  }

  Graph& graph_;
  std::vector<GraphKernel>& kernels_;
};

}  // namespace

void follow_products(Graph& graph) { Following(graph).run(); }

}  // namespace neuron_sim
