#pragma once
// What the fusions of graphs (ops/graph) know of a kernel: a part of its definition.

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ops/contract/hbm_tensor.h"
#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

class Expression;
struct InnerWindows;
struct MatrixProductOptions;
struct PoolingWindows;
struct RowProgram;

/// Emits a kernel whose result is not stored, but results[i] = result i of `expression` for it
/// (input 0) and `others` (inputs 1, 2, ...); all have its sizes, with any strides. With `pooling`
/// there is one, of which only the maxima of the windows are stored.
using EmitFollowed =
    std::function<void(Builder&, HbmTensors operands, HbmTensors others, HbmTensors results,
                       const Expression& expression, const InnerWindows& pooling)>;
/// Emits a kernel of which only the maxima of the windows are stored.
using EmitPooled = std::function<void(Builder&, HbmTensors operands, HbmTensors results,
                                      const InnerWindows& pooling)>;

struct OperandTraits {
  /// Its dimension 0 is the batch, as that of every result is, whose members do not mix
  /// (slice_batch.h). Of no operand of a kernel: what it computes says so, or nobody knows.
  bool batched = false;
  /// It is contracted over its last dimension, which lies on the partitions best (turn_results.h).
  bool contracted = false;
  /// Its dimensions from the slowest to the fastest, as the kernel loads them best; empty: as they
  /// are. Constants are stored so (constants.h). The results have the same bytes for any order.
  std::vector<int64_t> constant_order{};
};

struct FusionTraits {
  std::variant<std::monostate,  ///< opaque
                                /// Pointwise: results[i] = expression.results()[i](operands), all
                                /// of one shape (fuse_pointwise.h).
               std::shared_ptr<const Expression>,
               /// Rows: the row program. It may take in pointwise kernels (fuse_rows.h).
               std::shared_ptr<const RowProgram>,
               /// A product, which may take in pointwise kernels (fuse_products.h).
               std::shared_ptr<const MatrixProductOptions>,
               /// Max pooling over windows, [N, C, H, W] to [N, C, OH, OW] (pool_products.h).
               std::shared_ptr<const PoolingWindows>>
      computes{};
  std::vector<OperandTraits> operands{};  ///< of the first ones; nothing is known of others
  /// How a kernel with one result emits expressions applied to it (follow_products.h); empty if it
  /// cannot.
  EmitFollowed followed{};
  /// How a kernel with one result [N, C, H, W] pools it (pool_products.h); empty if it cannot.
  EmitPooled pooled{};
  /// Whether the kernel can also store its first result, fp32, in operand 0's dtype, rounded once:
  /// then casts of the result may be left out (round_at_source.h).
  bool rounds_result = false;
  /// Whether its one result is operand 0, byte for byte (drop_copies.h).
  bool copies = false;
  /// How many of the first results the kernel must have. It emits the others only where they are
  /// given, and they are left out when nothing reads them. Empty: it needs all.
  std::optional<size_t> needed_results{};

  /// What it computes, if that is a `Computed`; else nullptr.
  template <typename Computed>
  const Computed* as() const {
    const auto* const shared = std::get_if<std::shared_ptr<const Computed>>(&computes);
    return shared != nullptr ? shared->get() : nullptr;
  }
  template <typename Computed>
  void set(Computed computed) {
    computes = std::make_shared<const Computed>(std::move(computed));
  }
  bool is_batched() const {
    return std::any_of(operands.begin(), operands.end(),
                       [](const OperandTraits& operand) { return operand.batched; });
  }
};

/// Traits of kernels of which nothing is known but the operands whose batch does not mix.
template <bool... of_operands, typename Options>
FusionTraits batched(std::span<const TensorSpec> /*operands*/, const Options& /*options*/) {
  return {.operands = {{.batched = of_operands}...}};
}

}  // namespace neuron_sim
