#pragma once
// The sorted rows of a matrix with the places that their elements came from.
//
// Algorithm: a bitonic merge network. A row lies on as many partitions as there are for each row;
// elements of two partitions meet after the tile is transposed. Compared are pairs (element,
// place), so equal elements keep their order; NaN is an infinity whose place stands beyond all
// others.
//
// Roofline: Vector, 12 instructions for each of the l * (l + 1) / 2 exchanges of 2^l elements.

#include <array>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct SortOptions {
  bool descending = false;
  static constexpr std::array kFields{"descending"};
};

/// Elements of the longest row that is sorted on chip.
inline constexpr int64_t kLongestSorted = int64_t{1} << 19;

/// The first K elements of each sorted row of `operand` [R, n] into results [R, K] of its dtype,
/// and their places, int64 as two words of int32, into a second one [R, 2 * K]. Stable; NaN counts
/// as the largest number, and is written as the default NaN. n is at most kLongestSorted; any dtype
/// but int32, which engines compare in fp32.
void emit_sorted_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                      const SortOptions& options);
inline constexpr KernelDefinition<SortOptions> kSortedRows{.name = "sorted_rows",
                                                           .emit = emit_sorted_rows};

}  // namespace neuron_sim
