#pragma once
// Copies between two strided regions of equal element count: DMA transfers and transposes.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "device/operand/view.h"

namespace neuron_sim {

/// Most dimensions of one side of a copy: the partition dimension and the free ones.
inline constexpr int kMaximumCopyRank = kMaximumRank + 1;

/// One loop of a copy; strides in bytes.
struct CopyAxis {
  int64_t size = 1;
  int64_t source_stride = 0;
  int64_t target_stride = 0;
};

/// Nested loops, outermost first, that visit both sides in row-major order.
struct CopyNest {
  int count = 0;
  std::array<CopyAxis, size_t{2} * kMaximumCopyRank> axes{};
  CopyAxis& axis(int index) { return axes[static_cast<size_t>(index)]; }
  const CopyAxis& axis(int index) const { return axes[static_cast<size_t>(index)]; }
};

/// The loops common to two shapes of equal element count; empty when their rows interleave (a side
/// of rows of 4 against a side of rows of 6), which no nest of loops can express.
std::optional<CopyNest> common_nest(std::span<const Dimension> source,
                                    std::span<const Dimension> target);

/// One side of a copy: first element and dimensions, outermost first, strides in bytes.
struct SourceRegion {
  const std::byte* data;
  std::span<const Dimension> dimensions;
};
struct TargetRegion {
  std::byte* data;
  std::span<const Dimension> dimensions;
};

/// Copies elements of `itemsize` (1, 2 or 4) bytes bit by bit, in row-major order of both sides.
/// Sides that overlap without being equal give unspecified bytes, as on the chip.
void copy_elements(const SourceRegion& source, const TargetRegion& target, int itemsize);

/// Copies elements as copy_elements(), with a conversion through fp32 (the DMA engines' cast).
void convert_elements(const SourceRegion& source, Dtype source_dtype, const TargetRegion& target,
                      Dtype target_dtype);

}  // namespace neuron_sim
