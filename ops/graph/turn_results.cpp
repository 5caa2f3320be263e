#include "ops/graph/turn_results.h"

#include <map>
#include <optional>
#include <utility>

#include "ops/graph/kernels/tensor_match.h"
#include "ops/matmul/matrix_product.h"

namespace neuron_sim {
namespace {

/// A result [rows, columns], dense.
struct Matrix {
  GraphTensor tensor;
  int64_t rows = 0, columns = 0;
};

/// An operand, or a result, of a kernel.
struct Use {
  size_t kernel, index;
  bool writes;
};
/// By memory.
using Uses = std::map<size_t, std::vector<Use>>;

Uses uses_of(const std::vector<GraphKernel>& kernels) {
  Uses uses;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto add = [&](const std::vector<GraphTensor>& tensors, bool writes) {
      for (size_t index = 0; index < tensors.size(); ++index) {
        uses[tensors[index].memory].push_back({i, index, writes});
      }
    };
    add(kernels[i].operands, false);
    add(kernels[i].results, true);
  }
  return uses;
}

/// The result of a product that may be turned: a dense matrix of whole tiles of rows, of sums to
/// which at most a row that all rows share is added.
std::optional<Matrix> turnable(const GraphKernel& kernel, int64_t partitions) {
  const auto* const product = kernel.traits.as<MatrixProductOptions>();
  if (product == nullptr || product->others > 0 || kernel.results.size() != 1) return {};
  const GraphTensor& result = kernel.results.front();
  const size_t rank = result.shape.size();
  if (!is_dense(result) || rank < 2 || result.strides[rank - 1] != 1) return {};
  const Matrix matrix{result, result.shape[rank - 2], result.shape[rank - 1]};
  if (matrix.rows < partitions || matrix.columns < partitions) return {};
  if (result.end() - result.byte_offset != matrix.rows * matrix.columns * itemsize(result.dtype)) {
    return {};
  }
  const bool row_is_added = kernel.operands.size() < 3 || kernel.operands[2].strides[rank - 2] == 0;
  return row_is_added ? std::optional(matrix) : std::nullopt;
}

/// `tensor`, elements of the matrix, in the memory of its transpose; empty unless each of its
/// dimensions goes along rows or along columns, the last one along all contracted columns.
std::optional<GraphTensor> turned(const GraphTensor& tensor, const Matrix& matrix) {
  if (tensor.dtype != matrix.tensor.dtype) return {};
  GraphTensor by_rows = matrix.tensor;
  by_rows.shape = {matrix.rows, matrix.columns};
  by_rows.strides = {matrix.columns, 1};
  GraphTensor by_columns = by_rows;
  by_columns.strides = {1, matrix.rows};
  std::optional<GraphTensor> found = relocated(tensor, by_rows, by_columns);
  const bool contracts =
      found && (found->strides.back() == matrix.rows || found->shape.back() == 1);
  return contracts ? std::move(found) : std::nullopt;
}

/// What the operands become that read the result of kernel `writer`; empty when something else
/// writes its bytes or some reader cannot take them turned.
std::optional<std::vector<std::pair<GraphTensor*, GraphTensor>>> turned_readers(
    std::vector<GraphKernel>& kernels, const std::vector<Use>& uses, size_t writer,
    const Matrix& matrix) {
  std::vector<std::pair<GraphTensor*, GraphTensor>> readers;
  for (const Use& use : uses) {
    GraphKernel& kernel = kernels[use.kernel];
    if (use.writes && use.kernel == writer) continue;
    GraphTensor& tensor = (use.writes ? kernel.results : kernel.operands)[use.index];
    if (!may_overlap(tensor, matrix.tensor)) continue;
    const std::vector<OperandTraits>& operands = kernel.traits.operands;
    const bool contracts = !use.writes && use.kernel > writer && use.index < operands.size() &&
                           operands[use.index].contracted;
    const auto replaced = contracts ? turned(tensor, matrix) : std::nullopt;
    if (!replaced) return {};
    readers.emplace_back(&tensor, *replaced);
  }
  return readers.empty() ? std::nullopt : std::optional(std::move(readers));
}

}  // namespace

void turn_results(Graph& graph) {
  std::vector<GraphKernel>& kernels = graph.kernels;
  const Uses uses = uses_of(kernels);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto matrix = turnable(kernels[i], graph.architecture.limits.partitions);
    if (!matrix || graph.is_external(matrix->tensor.memory)) continue;
    const auto readers = turned_readers(kernels, uses.at(matrix->tensor.memory), i, *matrix);
    if (!readers) continue;
    GraphKernel product = kernels[i];
    GraphTensor& result = product.results.front();
    const size_t rank = result.shape.size();
    result.strides[rank - 2] = 1;
    result.strides[rank - 1] = matrix->rows;
    if (!product_fits(product, graph.architecture)) continue;
    kernels[i] = std::move(product);
    for (const auto& [operand, tensor] : *readers) *operand = tensor;
  }
}

}  // namespace neuron_sim
