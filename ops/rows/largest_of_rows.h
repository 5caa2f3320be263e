#pragma once
// The few largest or smallest elements of long rows, with their places.
//
// Algorithm: each row lies on many partitions. The k largest of a partition are maxima of eight,
// taken out and taken again; the candidates of sixteen partitions move to one, until a row lies on
// one. NaN are not seen by the maxima: their first places are selected beside the numbers. The
// ranks of the last candidates come from comparing all pairs.
//
// Roofline: Vector, k / 2 passes over the elements of a partition for floats, k / 4 for integers.

#include "ops/contract/kernel_definition.h"
#include "ops/rows/sorted_rows.h"

namespace neuron_sim {

/// Most results that are selected in each row.
inline constexpr int64_t kMostLargest = 64;

/// What emit_sorted_rows writes, for K up to kMostLargest.
void emit_largest_of_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                          const SortOptions& options);
inline constexpr KernelDefinition<SortOptions> kLargestOfRows{.name = "largest_of_rows",
                                                              .emit = emit_largest_of_rows};

}  // namespace neuron_sim
