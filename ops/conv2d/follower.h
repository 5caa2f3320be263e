#pragma once
// An expression that is applied to the sums of a convolution as they leave PSUM.

#include <vector>

#include "device/builder/builder.h"
#include "ops/contract/hbm_tensor.h"
#include "ops/conv2d/tiles.h"
#include "ops/pointwise/expression_emitter.h"

namespace neuron_sim {

/// What the expression reads besides the sums. HBM, all of the sizes before pooling.
struct Conv2dFollowerOperands {
  std::vector<HbmTensor> tensors;  ///< [N, filters, H, W]
  /// Whether operand i is one fp32 value per filter: such operands are loaded with the weights.
  bool is_per_filter(size_t i) const;
  std::vector<bool> per_filter() const;
  /// Bytes per partition and element of a result that the tiles of all others take.
  int64_t tile_bytes() const;
};

/// (x + a) + b as (x + b) + a, where a is per filter (`per_filter` of input 1, 2, ...) and b is
/// not: one instruction of Vector adds b to the scaled sums, and a is the bias of an activation.
Expression with_filter_values_last(const Expression& expression,
                                   const std::vector<bool>& per_filter);

/// Loads the operands of an expression and applies it bank by bank.
class Conv2dFollower {
 public:
  /// Input 0 of `expression` are the sums, the others are the operands in their order.
  Conv2dFollower(Builder& builder, const Conv2dPlan& plan, const Expression& expression,
                 const Conv2dFollowerOperands& operands);
  /// Loads the values per filter of a pass. `operands`: [filters, N, H, W] of the pass's set.
  void load_filters(const std::vector<View>& operands, const Conv2dPass& pass);
  /// Loads the operands of `filters` filters from `first` on (of the set) for the outputs of a
  /// band, before pooling. `number` is the filter block within the pass, `index` counts blocks of
  /// bands.
  void begin_block(const std::vector<View>& operands, const Conv2dPass& pass, const Affine& first,
                   int64_t filters, const Affine& number, const Conv2dBand& band,
                   const Affine& index);
  /// A rectangle of the results of a band.
  struct Part {
    Affine image, row, column;
    int64_t images = 1, rows = 1, columns = 1;
  };
  /// targets[i] = result i of the expression for `psum`, the sums of a part of the block. `turn`
  /// counts banks.
  void evacuate(const View& psum, const Part& part, const std::vector<View>& targets,
                const Affine& turn);

 private:
  void load_rows(const View& rows, int64_t first, int64_t count,
                 const std::vector<View>& values) const;

  Builder& builder_;
  const Conv2dPlan& plan_;
  ExpressionEmitter emitter_;
  std::vector<bool> per_filter_;  ///< per operand
  /// [filters of a block, blocks of a pass] for each value per filter, and their transposed rows.
  View filter_values_, filter_rows_;
  std::vector<View> tiles_;   ///< per operand that is not per filter: a ring of tiles
  std::vector<View> inputs_;  ///< of the block: [filters, 1] or [filters, images, rows, columns]
};

}  // namespace neuron_sim
