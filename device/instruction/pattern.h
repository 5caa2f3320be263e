#pragma once
// The free dimensions of an operand as runs, for fast inner loops.

#include <array>
#include <cstdint>
#include <span>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// Dimensions without those of size 1, neighbours merged where their strides allow it, outermost
/// first. `merged` needs room for as many; returns how many there are (0 for a single element).
int merge_dimensions(std::span<const Dimension> dimensions, std::span<Dimension> merged);

/// Equal strided runs: run r starts `offset(r)` after the first element and has `length` elements
/// `stride` apart. Units are bytes, or floats where the user of a Pattern says so.
struct Pattern {
  int64_t length = 1;
  int64_t stride = 0;
  int outer_rank = 0;
  std::array<Dimension, kMaximumFreeDimensions> outer{};  ///< outermost first

  int64_t runs() const;
  int64_t offset(int64_t run) const;
  int64_t elements() const { return runs() * length; }
  /// Offset of an element in row-major order.
  int64_t element_offset(int64_t element) const {
    return offset(element / length) + element % length * stride;
  }
  /// This pattern in units of `divisor` bytes.
  Pattern in_units_of(int64_t divisor) const;
};

/// The free pattern of an operand, in bytes, merged as far as its strides allow.
Pattern free_pattern(const Access& access);

/// Bytes; a longer step of the innermost free dimension slows the engines down
/// (docs/hardware_facts.md#wide-stride).
inline constexpr int64_t kWideStride = 16;
/// The innermost free dimension of more than one element steps by more than kWideStride (struct
/// Step).
bool is_strided(const View& view);

}  // namespace neuron_sim
