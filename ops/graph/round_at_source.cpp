#include "ops/graph/round_at_source.h"

#include <algorithm>
#include <optional>

#include "ops/graph/kernels/tensor_match.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {
namespace {

/// Whether a kernel copies one dense tensor from fp32 to a narrower floating dtype.
bool only_rounds(const GraphKernel& kernel) {
  const auto* const expression = kernel.traits.as<Expression>();
  if (expression == nullptr || kernel.operands.size() != 1 || kernel.results.size() != 1) {
    return false;
  }
  const GraphTensor &from = kernel.operands[0], &to = kernel.results[0];
  return expression->domain() == Domain::kFloat && expression->is_operand() &&
         from.dtype == Dtype::kFloat32 &&
         (to.dtype == Dtype::kBfloat16 || to.dtype == Dtype::kFloat16) && is_dense(from) &&
         same_order(from, to);
}

/// The kernel that may write the result of cast `cast` itself.
std::optional<size_t> source_of(const Graph& graph, size_t cast) {
  const GraphTensor &from = graph.kernels[cast].operands[0], &to = graph.kernels[cast].results[0];
  for (size_t i = cast; i-- > 0;) {
    const GraphKernel& kernel = graph.kernels[i];
    if (!touches(kernel.results, from)) {
      // Nothing in between may read what would be gone, or touch what is written earlier.
      if (touches(kernel.operands, from) || touches(kernel.operands, to) ||
          touches(kernel.results, to)) {
        return std::nullopt;
      }
      continue;
    }
    const GraphTensor& result = kernel.results[0];
    const bool fits = kernel.traits.rounds_result && result.memory == from.memory &&
                      result.byte_offset == from.byte_offset && result.dtype == from.dtype &&
                      result.end() == from.end() && is_dense(result) &&
                      kernel.operands[0].dtype == to.dtype && !touches(kernel.operands, to);
    if (!fits || is_read_after(graph, cast, from)) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

}  // namespace

void round_at_source(Graph& graph) {
  for (size_t i = 0; i < graph.kernels.size(); ++i) {
    if (!only_rounds(graph.kernels[i])) continue;
    const std::optional<size_t> source = source_of(graph, i);
    if (!source) continue;
    GraphTensor& result = graph.kernels[*source].results[0];
    const GraphTensor& rounded = graph.kernels[i].results[0];
    result.memory = rounded.memory;
    result.byte_offset = rounded.byte_offset;
    result.dtype = rounded.dtype;
    graph.kernels[i] = {};
  }
  drop_joined(graph);
}

void drop_unread_results(Graph& graph) {
  for (size_t i = 0; i < graph.kernels.size(); ++i) {
    std::vector<GraphTensor>& results = graph.kernels[i].results;
    const size_t needed = graph.kernels[i].traits.needed_results.value_or(results.size());
    while (results.size() > needed && !is_read_after(graph, i, results.back())) results.pop_back();
  }
}

}  // namespace neuron_sim
