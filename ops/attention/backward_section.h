#pragma once
// The gradient of attention for one section of heads, in overlapping steps (backward.h).

#include "ops/attention/backward.h"
#include "ops/attention/mask.h"
#include "ops/attention/units.h"

namespace neuron_sim {

class AttentionBackwardSection {
 public:
  /// `log_sums` [partitions, columns] of `numbers`, negated.
  AttentionBackwardSection(Builder& builder, const AttentionGradientOperands& operands,
                           const AttentionGradientResults& results, const AttentionOptions& options,
                           const AttentionUnits& units, const RowNumbers& numbers,
                           const View& log_sums, const CausalMask& mask);
  void emit(const Affine& image, const Affine& first_unit);
  /// Keys of a step.
  static int64_t key_tile(const Limits& limits, const AttentionSizes& sizes);

 private:
  /// Rows of a query head of a unit, and keys of its key head.
  struct Step {
    int64_t key_head, member, head, row, rows, key, keys;
    bool first_of_row, last_of_row;    ///< tiles of keys
    bool first_of_keys, last_of_keys;  ///< steps of the tile
  };

  View tile(const char* label, int64_t columns, Dtype dtype, int ring);
  View result_tile(const char* label, const HbmTensor& result, int64_t heads);
  HeadOperand operand(const HbmTensor& tensor, int64_t heads, HeadOperand::Form form);
  std::vector<Step> steps() const;
  void load(const Affine& unit);
  void prepare(const Affine& unit);
  void finish(const Affine& unit);
  void sum_products(const Affine& unit);

  View of_rows(const View& ring, const Step& step) const {
    return ring.turn(number_).slice(0, 0, step.rows);
  }
  View of_keys(const View& ring, const Step& step) const {
    return of_rows(ring, step).slice(1, 0, step.keys);
  }
  /// Rows of a step of an operand.
  View rows_of(const HeadOperand& operand, const Step& step) const {
    return operand.all_rows(unit_)
        .slice(0, 0, step.rows)
        .select(1, step.head)
        .select(1, step.row / row_tile_);
  }
  Affine start(const HbmTensor& tensor, const Affine& unit) const {
    return units_.start(tensor, image_, first_unit_ + unit);
  }

  void differentiate_scores(const Step& step);
  /// Whether a bank of PSUM holds the sums of several blocks of keys.
  bool blocks_share_banks() const { return key_tile_ > row_tile_; }
  View add_bias(const Step& step, const View& product);
  View scores_view(const HbmTensor& tensor, const Step& step) const;
  void add_key_gradients(const Step& step);
  void clear_key_gradients();
  void empty_key_gradients(const Step& step);
  void turn_scores(const Step& step);
  void add_query_gradient(const Step& step);

  Builder& builder_;
  const AttentionGradientOperands& operands_;
  const AttentionGradientResults& results_;
  const AttentionOptions& options_;
  const AttentionUnits& units_;
  const RowNumbers& numbers_;
  const View log_sums_;
  const CausalMask& mask_;
  const int64_t row_tile_, row_blocks_, key_tile_;
  const std::vector<Step> steps_;
  const int ring_;
  AttentionTransposer transposer_;
  HeadOperand gradient_, q_, k_, v_, out_;
  View products_, inner_, probabilities_, differences_, turned_, bias_tile_, biased_;
  View q_sum_, q_result_, k_result_, v_result_;
  View scores_, outer_, q_psum_, k_psum_, v_psum_;
  Affine image_, first_unit_, number_, unit_;  // of the step being emitted
};

}  // namespace neuron_sim
