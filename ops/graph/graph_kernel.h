#pragma once
// A kernel of a graph that becomes one program: its operands and results, and how it is emitted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/program/program.h"
#include "ops/blocks/axis_windows.h"
#include "ops/contract/hbm_tensor.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pointwise/expression.h"
#include "ops/pooling/max_pool.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

/// A tensor in one of the memories of a graph. Memories never overlap each other.
struct GraphTensor {
  size_t memory = 0;             ///< number of the memory
  int64_t byte_offset = 0;       ///< of the first element in it
  Dtype dtype{};                 ///< of the elements as the kernel sees them
  std::vector<int64_t> shape;    ///< sizes
  std::vector<int64_t> strides;  ///< elements, not negative
  bool operator==(const GraphTensor&) const = default;

  /// First byte after the last element.
  int64_t end() const;
};

/// Emits a kernel whose result is not stored, but results[i] = result i of `expression` for it
/// (input 0) and `others` (inputs 1, 2, ...); all have its sizes, with any strides. With `pooling`
/// there is one, of which only the maxima of the windows are stored.
using EmitFollowed =
    std::function<void(Builder&, HbmTensors operands, HbmTensors others, HbmTensors results,
                       const Expression& expression, const InnerWindows& pooling)>;
/// Emits a kernel of which only the maxima of the windows are stored.
using EmitPooled = std::function<void(Builder&, HbmTensors operands, HbmTensors results,
                                      const InnerWindows& pooling)>;

struct GraphKernel {
  std::string name;
  EmitKernel emit;
  std::vector<GraphTensor> operands, results;
  /// What a pointwise kernel computes: results[i] = expression.results()[i](operands), all of one
  /// shape. Such kernels may be joined (fuse_pointwise.h).
  std::optional<Expression> expression{};
  /// Per operand: its dimensions from the slowest to the fastest, as the kernel loads them best;
  /// empty (or no entry): as they are. Constants are stored so (constants.h).
  std::vector<std::vector<int64_t>> constant_orders{};
  /// How a kernel with one result emits expressions applied to it (follow_products.h); empty if it
  /// cannot.
  EmitFollowed followed{};
  /// How a kernel with one result [N, C, H, W] pools it (pool_products.h); empty if it cannot.
  EmitPooled pooled{};
  /// The windows of max pooling without indices, [N, C, H, W] to [N, C, OH, OW].
  std::optional<PoolingWindows> pooling{};
  /// The row program (ops/rows/row_program.h) that `emit` emits. Such kernels may take in pointwise
  /// ones (fuse_rows.h).
  std::optional<RowProgram> rows{};
  /// The options of the matrix product that `emit` emits. Such kernels may take in pointwise ones
  /// (fuse_products.h).
  std::optional<MatrixProductOptions> product{};
  /// Whether the kernel can also store its first result, fp32, in operand 0's dtype, rounded once:
  /// then casts of the result may be left out (round_at_source.h).
  bool rounds_result = false;
  /// Per operand: whether its dimension 0 is the batch, as that of every result is, whose members
  /// do not mix (slice_batch.h). Empty: `expression`, `rows` or `product` say so, or nobody knows.
  std::vector<bool> batched{};
  /// Per operand, of kernels that are no product: whether it is contracted over its last dimension,
  /// which then lies on the partitions best (turn_results.h). Empty: none is.
  std::vector<bool> contracted{};
  /// How many of the first results the kernel must have. It emits the others only where they are
  /// given, and they are left out when nothing reads them. Empty: it needs all.
  std::optional<size_t> needed_results{};
  /// What the kernel is instead of what `emit`, then empty, emits (embedded_program.h).
  std::shared_ptr<const Program> program{};
  /// The part of the model that it computes ("layers.0.attention"): the source line of its
  /// instructions. A kernel that takes in others keeps its own.
  std::string source{};
};

/// Whether the bytes between first and last element of the two overlap.
bool may_overlap(const GraphTensor& a, const GraphTensor& b);
/// Whether one of `tensors` may overlap `tensor`, or one of `others`.
bool touches(const std::vector<GraphTensor>& tensors, const GraphTensor& tensor);
bool touches(const std::vector<GraphTensor>& tensors, const std::vector<GraphTensor>& others);
/// Whether the order of the two kernels must be kept: one writes what the other one touches.
bool depend(const GraphKernel& a, const GraphKernel& b);
/// Whether `second` reads results of `first`, and neither overwrites what the other one touches.
bool feeds(const GraphKernel& first, const GraphKernel& second);
/// Whether the kernel at `from` commutes with all kernels between it and `to`.
bool can_move(const std::vector<GraphKernel>& kernels, size_t from, size_t to);
/// Whether `tensor` is read after kernel `last`: by a later one, or after the graph.
bool is_read_after(const std::vector<GraphKernel>& kernels, size_t last, const GraphTensor& tensor,
                   const std::function<bool(size_t memory)>& is_external);
/// The first kernel after `at` that reads its results, if it can move there and nothing else reads
/// the first of them; nullopt otherwise. A pass may join the two.
std::optional<size_t> only_reader(const std::vector<GraphKernel>& kernels, size_t at,
                                  const std::function<bool(size_t memory)>& is_external);
/// Whether the tiles of the kernel fit SBUF.
bool can_emit(const GraphKernel& kernel, const Architecture& architecture);
/// Whether a product has room in SBUF for its whole contracted dimension (product_is_resident).
bool product_fits(const GraphKernel& product, const Architecture& architecture);

}  // namespace neuron_sim
