#include "ops/graph/gate_products.h"

#include <optional>

#include "ops/graph/kernels/tensor_match.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pointwise/compose.h"

namespace neuron_sim {
namespace {

bool same_layout(const GraphTensor& a, const GraphTensor& b) {
  return a.shape == b.shape && a.strides == b.strides && a.dtype == b.dtype;
}

/// `product` with the result of `gate` instead of the operand that is that result.
std::optional<GraphKernel> joined(const GraphKernel& gate, const GraphKernel& product,
                                  int64_t partitions) {
  const auto* const first = gate.traits.as<MatrixProductOptions>();
  const auto* const second = product.traits.as<MatrixProductOptions>();
  if (first == nullptr || second == nullptr) return {};
  const GraphTensor &taken = gate.results.front(), &out = product.results.front();
  if (gate.operands[0] != product.operands[0] || out.shape.end()[-2] < partitions ||
      !same_layout(gate.operands[1], product.operands[1]) ||
      is_by_columns(out.shape, out.strides)) {
    return {};
  }
  GraphKernel result = product;
  GatedProductOptions options{*second, *first, std::ssize(gate.operands) - 1, taken.dtype};
  const size_t before = product.operands.size() - static_cast<size_t>(second->others);
  result.operands.resize(before);
  std::vector<size_t> inputs{0};  // of the expression without the gate; 0: the gate
  for (size_t i = before; i < product.operands.size(); ++i) {
    const bool is_gate = same_elements(product.operands[i], taken);
    if (!is_gate) result.operands.push_back(product.operands[i]);
    inputs.push_back(is_gate ? 0 : result.operands.size() - before);
  }
  if (touches(result.operands, taken)) return {};
  const size_t others = result.operands.size() - before;
  options.product.others = static_cast<int64_t>(others);
  options.product.after = with_inputs(second->after, [&](Expression& target, size_t input) {
    const bool is_gate = input > 0 && inputs[input] == 0;
    return target.input(static_cast<int>(is_gate ? others + 1 : inputs[input]));
  });
  result.operands.insert(result.operands.end(), gate.operands.begin() + 1, gate.operands.end());
  result.emit = with_options<GatedProductOptions>(emit_gated_product, options);
  result.traits = {};
  return result;
}

/// Bytes of SBUF per partition that the tiles of a kernel and the tensor take.
int64_t bytes_beside(const GraphKernel& kernel, const GraphTensor& tensor,
                     const Architecture& architecture) {
  Builder builder(kernel.name, architecture);
  kernel.emit(builder, declared(builder, kernel.operands), declared(builder, kernel.results));
  const int64_t bytes = TensorSpec{tensor.shape, {}}.elements() * itemsize(tensor.dtype);
  return builder.finish()->sbuf_peak + bytes / architecture.limits.partitions;
}

}  // namespace

void gate_products(Graph& graph, int64_t room) {
  join_only_readers(graph, [&](const GraphKernel& gate, const GraphKernel& product) {
    auto result = joined(gate, product, graph.architecture.limits.partitions);
    const bool joins = result &&
                       bytes_beside(product, gate.results.front(), graph.architecture) > room &&
                       can_emit(*result, graph.architecture);
    return joins ? result : std::nullopt;
  });
}

}  // namespace neuron_sim
