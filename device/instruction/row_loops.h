#pragma once
// Loops over fp32 rows of all partitions at once, which cost short rows little beside their
// arithmetic.

#include <cstdint>
#include <cstring>

#include "device/instruction/rows.h"

namespace neuron_sim {

/// result = function(first, second), element by element, of `rows` rows of `count` elements.
struct RowPairs {
  FloatRows<const float> first, second;
  FloatRows<float> result;
  int64_t rows = 1;
  int64_t count = 0;
};

namespace row_loops {

inline constexpr int64_t kBlock = 16;

/// Whether a block may be written after it has been read: the rows are the same or apart.
template <typename Value>
bool same_or_apart(const Value* source, const Value* target, int64_t count) {
  return source == target || source + count <= target || target + count <= source;
}

/// One row, in blocks of constant length, for which the compiler needs no loop.
template <typename Function>
void map_row(const float* first, float second, float* result, int64_t count, Function function) {
  int64_t i = 0;
  for (; same_or_apart(first, result, count) && i + kBlock <= count; i += kBlock) {
    float block[kBlock];
    for (int64_t l = 0; l < kBlock; ++l) block[l] = function(first[i + l], second);
    std::memcpy(result + i, block, sizeof block);
  }
  for (; i < count; ++i) result[i] = function(first[i], second);
}

}  // namespace row_loops

/// Row after row; `result` may be `first` or `second`. With kOneSecond, `second` has one element
/// per row.
template <bool kOneSecond, typename Function>
__attribute__((noinline)) void map_rows(const RowPairs pairs, Function function) {
  for (int64_t row = 0; row < pairs.rows; ++row) {
    const float* const first = pairs.first[row];
    const float* const second = pairs.second[row];
    float* const result = pairs.result[row];
    if constexpr (kOneSecond) {
      row_loops::map_row(first, *second, result, pairs.count, function);
    } else {
      for (int64_t i = 0; i < pairs.count; ++i) result[i] = function(first[i], second[i]);
    }
  }
}

}  // namespace neuron_sim
