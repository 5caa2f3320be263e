#pragma once
// Sums over rows: the gradient of a bias that was added to every row.

#include "device/builder/builder.h"

namespace neuron_sim {

/// Adds up the rows of tiles that pass by, in fp32, on the Tensor engine: a product with a column
/// of ones contracts the partitions, and PSUM accumulates over tiles. Up to four banks stay
/// resident; wider rows are accumulated tile by tile in SBUF, by Vector on one partition.
class ColumnSums {
 public:
  /// For tiles [P, group, columns] of `dtype` (fp32, fp16, bf16): element (p, g, c) adds to column
  /// c. `group` is at most group_limit(columns).
  ColumnSums(Builder& builder, Dtype dtype, int64_t group, int64_t columns);
  /// Rows that one partition may hold.
  static int64_t group_limit(const Limits& limits, int64_t columns);
  /// SBUF bytes per partition.
  static int64_t bytes(int64_t group, int64_t columns);

  /// Starts sums of `columns` columns, at most the constructor's.
  void begin(int64_t columns);
  void add(const View& tile);
  /// Stores the sums, rounded once, in the HBM vector `target` [columns].
  void finish(const View& target);

 private:
  void add_resident(const View& ones, const View& tile);
  void add_wide(const View& ones, const View& tile);

  Builder& builder_;
  int64_t columns_ = 0;      ///< of the sums that were begun
  int64_t bank_ = 0;         ///< elements of a bank
  int64_t bank_groups_ = 0;  ///< rows of a partition that one bank accumulates side by side
  int64_t banks_ = 0;
  bool resident_ = false;
  int64_t group_ = 1;
  View ones_, psum_, line_, result_;
};

}  // namespace neuron_sim
