#include "ops/graph/cast_in_products.h"

#include <algorithm>
#include <optional>

#include "ops/graph/kernels/tensor_match.h"
#include "ops/matmul/matrix_product.h"

namespace neuron_sim {
namespace {

/// Whether a kernel copies one dense int8 tensor to a floating dtype.
bool only_casts(const GraphKernel& kernel) {
  const auto* const expression = kernel.traits.as<Expression>();
  if (expression == nullptr || kernel.operands.size() != 1 || kernel.results.size() != 1) {
    return false;
  }
  const GraphTensor &from = kernel.operands[0], &to = kernel.results[0];
  return expression->is_operand() && from.dtype == Dtype::kInt8 && from.shape == to.shape &&
         (to.dtype == Dtype::kBfloat16 || to.dtype == Dtype::kFloat16 ||
          to.dtype == Dtype::kFloat32) &&
         is_dense(from) && same_order(from, to);
}

/// The view of `from`, the cast's operand, that matches the view `read` of its result `to`.
GraphTensor uncast(const GraphTensor& read, const GraphTensor& to, const GraphTensor& from) {
  GraphTensor tensor = read;
  tensor.memory = from.memory;
  tensor.dtype = from.dtype;
  tensor.byte_offset = from.byte_offset + (read.byte_offset - to.byte_offset) / itemsize(to.dtype);
  return tensor;
}

/// The product that reads what the cast reads, in place of its result; empty when it does not
/// multiply that result by something else.
std::optional<GraphKernel> casting(GraphKernel product, const GraphKernel& cast) {
  const GraphTensor &from = cast.operands[0], &to = cast.results[0];
  if (!product.traits.as<MatrixProductOptions>()) return std::nullopt;
  const auto reads = [&](size_t i) {
    const GraphTensor& operand = product.operands[i];
    return operand.memory == to.memory && operand.dtype == to.dtype &&
           operand.byte_offset >= to.byte_offset && operand.end() <= to.end();
  };
  if (reads(0) == reads(1)) return std::nullopt;
  GraphTensor& operand = product.operands[reads(0) ? 0 : 1];
  operand = uncast(operand, to, from);
  return touches(product.operands, to) ? std::nullopt : std::optional(std::move(product));
}

/// The products that read the result of cast `at` and nothing else, as they are when they cast;
/// empty when another kernel reads it or writes what it or they read.
std::vector<std::pair<size_t, GraphKernel>> readers(const std::vector<GraphKernel>& kernels,
                                                    size_t at) {
  const GraphKernel& cast = kernels[at];
  std::vector<std::pair<size_t, GraphKernel>> found;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (i == at) continue;
    if (touches(kernels[i].results, cast.results[0])) return {};
    if (i > at && touches(kernels[i].results, cast.operands[0])) return {};
    if (!touches(kernels[i].operands, cast.results[0])) continue;
    std::optional<GraphKernel> product =
        i > at ? casting(kernels[i], cast) : std::optional<GraphKernel>();
    if (!product) return {};
    found.emplace_back(i, std::move(*product));
  }
  return found;
}

}  // namespace

void cast_in_products(Graph& graph) {
  std::vector<GraphKernel>& kernels = graph.kernels;
  for (size_t at = 0; at < kernels.size();) {
    const bool leaves =
        only_casts(kernels[at]) && !graph.is_external(kernels[at].results[0].memory);
    auto found = leaves ? readers(kernels, at) : std::vector<std::pair<size_t, GraphKernel>>();
    if (found.empty()) {
      ++at;
      continue;
    }
    for (auto& [place, product] : found) kernels[place] = std::move(product);
    kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace neuron_sim
