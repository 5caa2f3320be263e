#include "ops/graph/kernels/graph_kernel.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/matmul/matrix_product.h"

namespace neuron_sim {

int64_t GraphTensor::end() const {
  return byte_offset + extent_of(shape, strides) * itemsize(dtype);
}

bool may_overlap(const GraphTensor& a, const GraphTensor& b) {
  return a.memory == b.memory && a.byte_offset < b.end() && b.byte_offset < a.end();
}

bool touches(const std::vector<GraphTensor>& tensors, const GraphTensor& tensor) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const GraphTensor& other) { return may_overlap(other, tensor); });
}

bool touches(const std::vector<GraphTensor>& tensors, const std::vector<GraphTensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const GraphTensor& other) { return touches(tensors, other); });
}

bool depend(const GraphKernel& a, const GraphKernel& b) {
  return touches(a.results, b.operands) || touches(a.operands, b.results) ||
         touches(a.results, b.results);
}

bool feeds(const GraphKernel& first, const GraphKernel& second) {
  return touches(first.results, second.operands) && !touches(first.operands, second.results) &&
         !touches(first.results, second.results);
}

bool can_move(const std::vector<GraphKernel>& kernels, size_t from, size_t to) {
  for (size_t i = std::min(from, to) + 1; i < std::max(from, to); ++i) {
    if (depend(kernels[from], kernels[i])) return false;
  }
  return true;
}

bool is_read_after(const Graph& graph, size_t last, const GraphTensor& tensor) {
  if (graph.is_external(tensor.memory)) return true;
  const auto after = graph.kernels.begin() + static_cast<std::ptrdiff_t>(last) + 1;
  return std::any_of(after, graph.kernels.end(),
                     [&](const GraphKernel& kernel) { return touches(kernel.operands, tensor); });
}

void drop_joined(Graph& graph) {
  std::erase_if(graph.kernels, [](const GraphKernel& kernel) { return kernel.results.empty(); });
}

namespace {

std::optional<size_t> only_reader(const Graph& graph, size_t at) {
  const std::vector<GraphKernel>& kernels = graph.kernels;
  for (size_t i = at + 1; i < kernels.size(); ++i) {
    if (!touches(kernels[at].results, kernels[i].operands)) continue;
    const bool joins = feeds(kernels[at], kernels[i]) && can_move(kernels, i, at) &&
                       !is_read_after(graph, i, kernels[at].results.front());
    return joins ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void join_only_readers(
    Graph& graph,
    const std::function<std::optional<GraphKernel>(const GraphKernel&, const GraphKernel&)>& join) {
  std::vector<GraphKernel>& kernels = graph.kernels;
  for (size_t at = 0; at < kernels.size(); ++at) {
    while (const std::optional<size_t> reader = only_reader(graph, at)) {
      std::optional<GraphKernel> joined = join(kernels[at], kernels[*reader]);
      if (!joined) break;
      kernels[at] = std::move(*joined);
      kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(*reader));
    }
  }
}

std::string listing(const Graph& graph, std::string_view pass) {
  std::string lines = text("after ", pass, ": ", graph.kernels.size(), " kernels\n");
  const auto add = [&](std::string_view before, const std::vector<GraphTensor>& tensors) {
    for (const GraphTensor& tensor : tensors) {
      lines += text(before, "memory", tensor.memory, "+", tensor.byte_offset, " [");
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        lines += text(d > 0 ? ", " : "", tensor.shape[d]);
      }
      lines += text("] ", name(tensor.dtype));
      before = ", ";
    }
  };
  for (const GraphKernel& kernel : graph.kernels) {
    lines += "  " + kernel.name;
    add(" ", kernel.operands);
    add(" -> ", kernel.results);
    lines += "\n";
  }
  return lines;
}

std::vector<HbmTensor> declared(Builder& builder, const std::vector<GraphTensor>& tensors) {
  std::vector<HbmTensor> result;
  for (const GraphTensor& tensor : tensors) {
    const View storage =
        builder.scratch("tensor", {extent_of(tensor.shape, tensor.strides)}, tensor.dtype);
    result.push_back({storage, tensor.shape, tensor.strides});
  }
  return result;
}

bool can_emit(const GraphKernel& kernel, const Architecture& architecture) {
  Builder builder(kernel.name, architecture);
  const std::vector<HbmTensor> operands = declared(builder, kernel.operands);
  const std::vector<HbmTensor> results = declared(builder, kernel.results);
  try {
    kernel.emit(builder, operands, results);
  } catch (const KernelError&) {
    return false;
  }
  return true;
}

bool product_fits(const GraphKernel& product, const Architecture& architecture) {
  Builder builder(product.name, architecture);
  const std::vector<HbmTensor> operands = declared(builder, product.operands);
  return product_is_resident(builder, operands, declared(builder, product.results),
                             *product.traits.as<MatrixProductOptions>());
}

}  // namespace neuron_sim
