#include "ops/graph/turn_results.h"

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
    std::vector<GraphKernel>& kernels, size_t writer, const Matrix& matrix) {
  std::vector<std::pair<GraphTensor*, GraphTensor>> readers;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (i != writer && touches(kernels[i].results, matrix.tensor)) return {};
    const std::vector<OperandTraits>& traits = kernels[i].traits.operands;
    for (size_t index = 0; index < kernels[i].operands.size(); ++index) {
      GraphTensor& operand = kernels[i].operands[index];
      if (!may_overlap(operand, matrix.tensor)) continue;
      const bool contracts = i > writer && index < traits.size() && traits[index].contracted;
      const auto replaced = contracts ? turned(operand, matrix) : std::nullopt;
      if (!replaced) return {};
      readers.emplace_back(&operand, *replaced);
    }
  }
  return readers.empty() ? std::nullopt : std::optional(std::move(readers));
}

}  // namespace

void turn_results(Graph& graph) {
  std::vector<GraphKernel>& kernels = graph.kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto matrix = turnable(kernels[i], graph.architecture.limits.partitions);
    if (!matrix || graph.is_external(matrix->tensor.memory)) continue;
    const auto readers = turned_readers(kernels, i, *matrix);
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
