#include "ops/graph/verify.h"

#include <algorithm>
#include <map>
#include <utility>

#include "device/base/errors.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pooling/max_pool.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

std::vector<GraphTensor> tensors_of(const GraphKernel& kernel) {
  std::vector<GraphTensor> tensors = kernel.operands;
  tensors.insert(tensors.end(), kernel.results.begin(), kernel.results.end());
  return tensors;
}

/// What kernels touch of each memory.
struct Contents {
  std::map<size_t, std::pair<int64_t, int64_t>> touched;  ///< first byte, and first one after
  std::map<size_t, std::pair<int64_t, int64_t>> stored;   ///< the same of external memories
  /// Others that a kernel reads before one writes there, and the last such kernel.
  std::map<size_t, std::string> read_early;

  Contents(const std::vector<GraphKernel>& kernels, const Graph& graph) {
    std::vector<GraphTensor> written;
    for (const GraphKernel& kernel : kernels) {
      for (const GraphTensor& tensor : tensors_of(kernel)) grow(touched, tensor);
      for (const GraphTensor& operand : kernel.operands) {
        const bool known = graph.is_external(operand.memory) || touches(written, operand);
        if (!known) read_early[operand.memory] = kernel.name;
      }
      for (const GraphTensor& result : kernel.results) {
        if (graph.is_external(result.memory)) grow(stored, result);
        written.push_back(result);
      }
    }
  }

 private:
  static void grow(std::map<size_t, std::pair<int64_t, int64_t>>& extents,
                   const GraphTensor& tensor) {
    const std::pair own{tensor.byte_offset, tensor.end()};
    auto& [begin, end] = extents.try_emplace(tensor.memory, own).first->second;
    begin = std::min(begin, own.first);
    end = std::max(end, own.second);
  }
};

/// What is wrong after the pass: half a sentence; empty when nothing is.
std::string complaint(const GraphPass& pass, const std::vector<GraphKernel>& before,
                      const Graph& after) {
  const Contents known(before, after), found(after.kernels, after);
  for (const auto& [memory, extent] : found.touched) {
    const auto old = known.touched.find(memory);
    if (old == known.touched.end() || extent.first < old->second.first ||
        extent.second > old->second.second) {
      return text("a tensor lies outside memory ", memory);
    }
  }
  for (const auto& [memory, kernel] : found.read_early) {
    if (known.read_early.contains(memory)) continue;
    return text("kernel '", kernel, "' reads memory ", memory, " before anything writes it");
  }
  if (known.stored != found.stored) return "other bytes of external memories are written";
  for (const GraphKernel& kernel : after.kernels) {
    const std::string objection = traits_objection(kernel);
    if (!objection.empty()) return text("kernel '", kernel.name, "' ", objection);
  }
  const auto same = [](const GraphKernel& a, const GraphKernel& b) { return a.name == b.name; };
  const bool kept =
      std::equal(before.begin(), before.end(), after.kernels.begin(), after.kernels.end(), same);
  return kept || !pass.keeps.kernels ? "" : "the kernels are others";
}

}  // namespace

std::string traits_objection(const GraphKernel& kernel) {
  const FusionTraits& traits = kernel.traits;
  const size_t operands = kernel.operands.size(), results = kernel.results.size();
  if (traits.operands.size() > operands) return "has traits of operands that it does not have";
  if (traits.needed_results.value_or(0) > results) return "lacks a result that it must have";
  if (const auto* const expression = traits.as<Expression>()) {
    const std::vector<int64_t>& shape = kernel.results.front().shape;
    for (const GraphTensor& tensor : tensors_of(kernel)) {
      if (tensor.shape != shape) return "is pointwise on tensors of several shapes";
    }
    for (const ExpressionStep& step : expression->steps()) {
      if (step.input >= std::ssize(kernel.operands)) return "reads an operand that it lacks";
    }
    if (expression->results().size() != results) return "is an expression of other results";
  } else if (const auto* const rows = traits.as<RowProgram>()) {
    if (rows->results.size() != results) return "is a row program of other results";
    if (rows->reduced.size() != kernel.operands.front().shape.size()) return "has other rows";
  } else if (const auto* const product = traits.as<MatrixProductOptions>()) {
    const auto others = static_cast<size_t>(product->others);
    if (results != 1 || operands < others + 2 || operands > others + 3) {
      return "is a product of other operands";
    }
  } else if (const auto* const windows = traits.as<PoolingWindows>()) {
    const std::vector<int64_t>& image = kernel.operands.front().shape;
    if (image.size() != 4 || image[2] != windows->rows.extent ||
        image[3] != windows->columns.extent) {
      return "pools other images";
    }
  }
  return "";
}

void verify_graph(const GraphPass& pass, const std::vector<GraphKernel>& before,
                  const Graph& after) {
  const std::string wrong = complaint(pass, before, after);
  if (wrong.empty()) return;
  throw SimulatorBug(text("neuron_sim bug: after graph pass '", pass.name, "' ", wrong, "."));
}

}  // namespace neuron_sim
