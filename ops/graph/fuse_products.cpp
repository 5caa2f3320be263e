#include "ops/graph/fuse_products.h"

#include <algorithm>

#include "device/numerics/operators.h"
#include "ops/graph/kernels/tensor_match.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pointwise/compose.h"

namespace neuron_sim {
namespace {

/// Whether GpSimd, which cannot access PSUM, would read input 0.
bool reads_sums_on_gpsimd(const Expression& expression) {
  const std::vector<ExpressionStep>& steps = expression.steps();
  const auto is_sums = [&](int step) {
    if (step < 0) return false;
    const ExpressionStep& source = steps[static_cast<size_t>(step)];
    return source.kind == ExpressionKind::kInput && source.input == 0;
  };
  return std::any_of(steps.begin(), steps.end(), [&](const ExpressionStep& step) {
    return step.kind == ExpressionKind::kAlu && !is_vector_operator(step.alu) &&
           (is_sums(step.a) || is_sums(step.b));
  });
}

/// The product that applies `given`, which reads its result; empty when they go over other
/// elements.
std::optional<GraphKernel> joined(const GraphKernel& product, const GraphKernel& given) {
  const bool single = product.results.size() == 1 && given.results.size() == 1;
  const Expression& expression = *given.traits.as<Expression>();
  if (!single || expression.domain() != Domain::kFloat) return std::nullopt;
  const GraphTensor& sums = product.results.front();
  const auto pointwise = under_shape(given, sums.shape);
  if (!pointwise) return std::nullopt;
  GraphKernel result = product;
  MatrixProductOptions options = *product.traits.as<MatrixProductOptions>();
  const size_t first = product.operands.size() - static_cast<size_t>(options.others);
  std::vector<GraphTensor> others(product.operands.begin() + static_cast<std::ptrdiff_t>(first),
                                  product.operands.end());
  std::vector<size_t> inputs;  // of the joined expression
  for (const GraphTensor& operand : pointwise->operands) {
    const bool linked = same_elements(operand, sums);
    if (!linked && may_overlap(operand, sums)) return std::nullopt;
    inputs.push_back(linked ? 0 : place_of(others, operand) + 1);
  }
  const Expression before = options.after;
  options.after = with_inputs(expression, [&](Expression& target, size_t input) {
    if (inputs[input] > 0 || before.results().empty()) {
      return target.input(static_cast<int>(inputs[input]));
    }
    return append_steps(target, before, first_inputs(target, others.size() + 1)).front();
  });
  options.others = std::ssize(others);
  if (others.size() > kMaximumProductOperands ||
      options.after.steps().size() > kMaximumProductSteps || reads_sums_on_gpsimd(options.after)) {
    return std::nullopt;
  }
  result.operands.resize(first);
  result.traits.operands.resize(first);
  result.operands.insert(result.operands.end(), others.begin(), others.end());
  result.results = pointwise->results;
  result.emit = with_options<MatrixProductOptions>(emit_matrix_product, options);
  result.traits.set(std::move(options));
  return result;
}

}  // namespace

void fuse_products(Graph& graph) {
  join_only_readers(graph, [&](const GraphKernel& product, const GraphKernel& reader) {
    std::optional<GraphKernel> result;
    if (product.traits.as<MatrixProductOptions>() && reader.traits.as<Expression>()) {
      result = joined(product, reader);
    }
    return result && product_fits(*result, graph.architecture) ? result : std::nullopt;
  });
}

}  // namespace neuron_sim
