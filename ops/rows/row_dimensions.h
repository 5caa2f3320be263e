#pragma once
// The dimensions that a row program goes over.

#include <functional>
#include <span>
#include <vector>

#include "ops/blocks/collapse.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

/// Kept dimensions (rows) and row dimensions (columns) of operands and results together.
struct RowDimensions {
  std::vector<SharedDimension> rows, columns;

  static RowDimensions of(const RowProgram& program, std::span<const HbmTensor> tensors);
  int64_t column_elements() const;
};

/// Rows of equal tiles: `row` of them on partitions, `group` side by side on each partition.
struct RowRun {
  SharedDimension row, group;

  /// Sizes of a tile of `count` partitions: partitions, group, columns.
  std::vector<int64_t> tile_sizes(const RowDimensions& dimensions, int64_t count) const;
  /// The strides of a tensor (elements) in such a tile.
  std::vector<int64_t> tile_steps(const RowDimensions& dimensions, size_t tensor) const;
};

/// Rows of so many elements are long enough for descriptors, one to a partition: as products have
/// and want them.
inline constexpr int64_t kLongRow = 512;

/// How many rows lie on one partition, and which. They are neighbours of the largest dimension, or
/// abreast: of the last other one. In rows of heads [T, H, D] a partition then holds heads of one
/// token, as products have and want them, and what these heads share is loaded once.
class RowGroups {
 public:
  RowGroups() = default;
  /// Groups of at most `most` rows (at least 1).
  RowGroups(const RowDimensions& dimensions, int64_t partitions, int64_t most);

  int64_t size() const { return size_; }
  bool are_abreast() const { return abreast_ != row_; }

  /// Emits the loops over all rows; `body` gets the first element of each run.
  using Body = std::function<void(const Starts&, const RowRun&)>;
  void for_each_run(Builder& builder, const RowDimensions& dimensions, const Starts& starts,
                    const Body& body) const;

 private:
  size_t row_ = 0, abreast_ = 0;  ///< dimensions of rows; equal: not abreast
  int64_t size_ = 1, partitions_ = 1;
};

}  // namespace neuron_sim
