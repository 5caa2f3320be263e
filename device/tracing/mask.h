#pragma once
// Masks: comparisons of index expressions, and the boxes that they leave of a tile.

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "device/tracing/index_expression.h"

namespace neuron_sim::tracing {

/// Every condition is at least 0.
struct Mask {
  std::vector<IndexExpression> conditions;

  /// The broadcast shape of the conditions; of sizes that differ, the larger one.
  Sizes shape() const;
};

enum class Comparison { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual };

/// The mask of a comparison; whether it holds, where both sides are the same up to a constant.
/// IndexOverflow, or KernelError for shapes that cannot be broadcast together.
std::variant<bool, Mask> compare(const IndexExpression& a, Comparison comparison,
                                 const IndexExpression& b);

/// Positions first .. last - 1 of every dimension.
struct Box {
  Sizes first, last;
  bool operator==(const Box&) const = default;
};

/// The most boxes that a mask is split into.
inline constexpr int64_t kMaximumBoxes = 4096;

/// What a mask leaves of a tile: nothing for all of it, else disjoint boxes in row-major order of
/// their first elements. A mask on single dimensions leaves one box; one that couples dimensions a
/// box per position of all but one of them. That one is the partition dimension where it is limited
/// from above only, because engines start at few partitions; else the last.
/// LoopsNeeded of conditions that depend on loops; KernelError when a condition does not fit the
/// tile or leaves more than kMaximumBoxes.
std::optional<std::vector<Box>> boxes(const Mask& mask, const Sizes& shape);

}  // namespace neuron_sim::tracing
