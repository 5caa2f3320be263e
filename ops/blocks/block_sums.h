#pragma once
// Sums of long rows on Vector, which adds one element after the other.

#include "device/builder/builder.h"
#include "device/isa/reduction/tensor_reduce.h"

namespace neuron_sim {

/// Elements that one instruction adds up. In order, equal values may round the same way at every
/// addition: 64 of them lose up to 1.0e-6 of their sum, less than torch's tolerance of 1.3e-6 for
/// float32, 128 lose 1.9e-6 and 2048 lose 2.9e-5. The sum of 32 sums of 64 of them loses 1.4e-6.
inline constexpr int64_t kLongestSum = 64;

/// tensor_reduce in two levels where a row has more elements than kLongestSum.
class BlockSums {
 public:
  /// For up to `rows` rows per partition of up to `columns` elements each.
  BlockSums(Builder& builder, int64_t rows, int64_t columns);

  /// Emits `reduce`; as one instruction where it is no sum, or where the reduced dimensions do not
  /// lie close together in SBUF. (Of a product, every order rounds as much.) `turn` counts calls.
  void emit(TensorReduce reduce, const Affine& turn) const;

 private:
  Builder& builder_;
  View partial_;  ///< absent when every row is short
};

}  // namespace neuron_sim
