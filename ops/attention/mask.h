#pragma once
// Scores above the diagonal of a causal mask.

#include "device/builder/builder.h"

namespace neuron_sim {

/// Masks the keys j > i in the scores of rows i.
class CausalMask {
 public:
  /// With `causal` false it does nothing.
  CausalMask(Builder& builder, bool causal);
  /// Keys that count for any of the rows up to `end` (exclusive).
  int64_t keys(int64_t end, int64_t keys) const { return causal_ ? std::min(keys, end) : keys; }
  /// scores [rows, keys] of the rows from `row` on and the keys from `key` on, both multiples of
  /// the partitions: minus infinity where a key does not count.
  void apply(const View& scores, int64_t row, int64_t key) const;

 private:
  Builder& builder_;
  bool causal_;
  View above_;
};

}  // namespace neuron_sim
