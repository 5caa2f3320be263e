#pragma once
// Attention of one section of heads, in overlapping steps (attention.h).

#include <optional>

#include "ops/attention/attention.h"
#include "ops/attention/mask.h"
#include "ops/attention/units.h"

namespace neuron_sim {

/// Keys of a step: scores of fp32 in this many PSUM banks.
inline constexpr int64_t kAttentionScoreBanks = 2;
/// A lower bound of sums of exponentials: below that of any row with a key, and in the range of the
/// logarithm.
inline constexpr double kAttentionSmallestSum = 1e-6;

struct AttentionTensors {
  const HbmTensor &q, &k, &v;
  const std::optional<HbmTensor>& bias;
  const HbmTensor& out;
};

/// Largest scores, negated and scaled, and sums of exponentials of all rows of a section.
struct AttentionRowState {
  View negated;  ///< [partitions, 2, columns]; the last one is in plane 0
  View totals;   ///< [partitions, columns]
};

/// Emits the weighted sums and the row state of a section.
class AttentionSection {
 public:
  AttentionSection(Builder& builder, const AttentionTensors& tensors,
                   const AttentionOptions& options, const AttentionUnits& units,
                   const RowNumbers& numbers, const AttentionRowState& state,
                   const CausalMask& mask);
  void emit(const Affine& image, const Affine& first_unit);

 private:
  /// Rows of a query head of a unit, and keys.
  struct Step {
    int64_t head, row, rows, key, keys, tile, tiles;
    bool is_first() const { return tile == 0; }
    bool is_last() const { return tile == tiles - 1; }
  };

  View tile(const char* label, int64_t columns, Dtype dtype, int ring);
  HeadOperand operand(const HbmTensor& tensor, int64_t heads, HeadOperand::Form form);
  std::vector<Step> steps() const;

  View of_rows(const View& ring, const Step& step) const {
    return ring.turn(number_).slice(0, 0, step.rows);
  }
  View of_keys(const View& ring, const Step& step) const {
    return of_rows(ring, step).slice(1, 0, step.keys);
  }
  int64_t key_head(const Step& step) const { return step.head / units_.members; }
  Affine column(const Step& step) const {
    return numbers_.column(unit_, step.head, step.row / row_tile_);
  }
  View total(const Step& step) const;
  View negated(const Step& step, int64_t index) const;
  View scores(const Step& step) const { return of_keys(tensors_.bias ? biased_ : scores_, step); }
  /// The scale still to apply: 1 once a bias has been added.
  double scale() const { return tensors_.bias ? 1 : options_.scale; }

  void score(const Step& step, const Affine& bias);
  void add_bias(const Step& step, const Affine& start, const View& product);
  void exponentiate(const Step& step);
  void turn_exponentials(const Step& step);
  void add_values(const Step& step);
  void divide(const Step& step, const View& sums);

  Builder& builder_;
  const AttentionTensors& tensors_;
  const AttentionOptions& options_;
  const AttentionUnits& units_;
  const RowNumbers& numbers_;
  const AttentionRowState& state_;
  const CausalMask& mask_;
  const int64_t row_tile_, key_tile_;
  const std::vector<Step> steps_;
  AttentionTransposer transposer_;
  const bool stacked_;  ///< q and k
  HeadOperand q_, k_, v_;
  View turned_, exponentials_, bias_tile_, biased_, sums_, out_;
  View largest_, part_, inverse_, decay_, scores_, weighted_;
  Affine number_, unit_;  // of the step being emitted
};

}  // namespace neuron_sim
