#pragma once
// One row for all partitions: a bias or a weight that every row of a tile needs.

#include "device/builder/builder.h"

namespace neuron_sim {

/// Loads a row from HBM once and lets the PE array repeat it: the product of a column of ones with
/// the row is the row on every partition, with the same values (1 * x, summed with nothing else; a
/// NaN becomes the NaN of products, -0 becomes 0). A DMA would move the row once per partition.
class RowSpreader {
 public:
  /// For rows of at most `columns` elements of `dtype`, which takes_dtype() accepts. `spreads`:
  /// whether spread() will be called, which takes `ring` banks of PSUM.
  RowSpreader(Builder& builder, Dtype dtype, int64_t columns, bool spreads, int ring = 1);
  /// Whether the PE array multiplies elements of the dtype: fp32, fp16 and bf16.
  static bool takes_dtype(Dtype dtype);
  /// Bytes per partition for rows of `columns` elements.
  static int64_t bytes(Dtype dtype, int64_t columns);

  /// Loads `row`, HBM [1, F...], to partition 0; `turn` counts calls.
  void load(const View& row, const Affine& turn);
  /// tile [P, F] = the loaded row on every partition.
  void spread(const View& tile) const;
  /// psum [P, N] += elements [column, column + N) of the loaded row, one fp32 addition each.
  void add(const View& psum, const Affine& column) const;

 private:
  void multiply(const View& psum, const Affine& column, bool accumulate) const;

  Builder& builder_;
  View ones_, rows_, row_, psum_;
};

}  // namespace neuron_sim
