#pragma once
// The view of a tensor that a kernel indexes: which elements of a storage it has, in which order.

#include <span>
#include <string_view>
#include <vector>

#include "device/tracing/mask.h"

namespace neuron_sim::tracing {

/// A placeholder for the tensor's name in errors of a view, which does not know it.
inline constexpr std::string_view kTensorName = "{tensor}";

/// err_tensor_access_out_of_bound: a KernelError (kIndex).
[[noreturn]] void out_of_bound(std::string_view name, int64_t dimension, const Bounds& index,
                               int64_t size);

/// A bound that does not hold yet, which a mask may narrow: an index, start + sum of step *
/// position in a dimension of the view, has to be below the size of a dimension.
struct IndexCheck {
  int64_t dimension = 0;  ///< of the tensor that was indexed
  Position start;
  Sizes steps;  ///< of the first dimensions of the view; 0 in the others
  int64_t size = 0;

  /// The smallest and largest index in a view of this shape.
  Bounds bounds(const Sizes& shape) const;
  /// Whether it holds everywhere in a view of this shape.
  bool holds(const Sizes& shape) const;
};

/// Dimensions `shape` with `steps` from element `start` of a storage. On chip dimension `axis`
/// counts partitions from `partition` on.
struct TensorView {
  int axis = -1;  ///< -1 in HBM
  Sizes shape, steps;
  Position partition, start;
  std::vector<IndexCheck> checks;

  /// The whole of a new tensor: dense, in HBM or on chip after the partitions in dimension `axis`.
  static TensorView dense(const Sizes& shape, int axis);
  /// KernelError for more than kMaximumDimensions.
  void append(int64_t size, int64_t step);
  /// Moves the first element along a dimension of `of`. IndexOverflow.
  void move(const TensorView& of, size_t dimension, const Position& by);
  /// KernelError (kIndex) for a check that does not hold.
  void check_bounds() const;
  /// The part in a box, of as many dimensions or fewer. Dimensions of size 1 are broadcast ones and
  /// stay; checks that hold there are dropped.
  TensorView narrowed(const Box& box) const;
};

/// The elements start, start + step, ... of a dimension.
struct Range {
  Position start;
  int64_t count = 1;
  int64_t step = 1;
  bool stays = false;          ///< as a dimension of the result
  bool may_be_masked = false;  ///< out of range: the older language has masks for it
};

/// A bound of a slice: a number, which counts from the end where it is negative, or an expression.
struct SliceBound {
  Position position;
  bool is_number = true;
};
/// start:stop:step of a dimension; null for what is not given. KernelError (kIndex) unless the step
/// is positive; LoopsNeeded when the number of elements depends on loops.
Range slice_range(const SliceBound* start, const SliceBound* stop, int64_t step, int64_t size);

/// An index of a gather: a number, or an expression of nl.arange or of loops.
struct GatherIndex {
  const IndexExpression* expression = nullptr;
  int64_t number = 0;
};

/// tensor[index] on its way to a view: of ranges, one call per item, or of a gather. KernelError
/// with kTensorName for indices that the tensor does not have.
class Subscript {
 public:
  explicit Subscript(const TensorView& of);

  /// Before the first range: the items that take a dimension, and the new axes.
  void expect(size_t named, size_t added);
  /// The size of the dimension that the next range takes.
  int64_t next_size() const { return old_.shape[next_]; }
  void take(const Range& range);
  /// `...`: the dimensions that no item takes.
  void skip();
  void add_axis();
  /// Index expressions that are broadcast together, of the first dimensions.
  void gather(std::span<const GatherIndex> indices);
  /// On chip the partition dimension stays, and at least two dimensions are left.
  TensorView result();

 private:
  /// What a dimension is indexed with, for the checks that the result inherits.
  struct Indexed {
    Position start;
    Sizes steps;
  };

  void check(const Range& range, bool stays);
  void keep(size_t count);
  void note(const Position& start, int64_t step);
  void apply(size_t d, const IndexExpression& index, const Position& start);
  void index_partitions(size_t d, const IndexExpression& index);
  void inherit(IndexCheck check);

  const TensorView& old_;
  TensorView made_;
  size_t named_ = 0;
  size_t next_ = 0;
  std::vector<Indexed> indexed_;
};

/// Tensor.ap() on chip: `pattern` has sizes and steps, of which the first counts elements of a
/// partition, `row` in the storage; or as many as the view itself has of one, in the view.
TensorView placed_pattern(const TensorView& of, TensorView pattern, const IndexExpression& offset,
                          int64_t row);

}  // namespace neuron_sim::tracing
