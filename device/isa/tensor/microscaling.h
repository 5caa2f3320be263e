#pragma once
// Where the scales of MX operands lie (trainium3_arch.rst, "Quad-MXFP8/MXFP4 Matmul Performance").

#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// A group of 8 partitions x 4 packed values shares one scale.
inline constexpr int64_t kGroupPartitions = 8;
/// 32 partitions of data, a quadrant, have their 4 rows of scales in 4 consecutive partitions.
inline constexpr int64_t kQuadrantPartitions = 32;

/// The row of the scale operand for a row of the data operand: 4 rows at the start of each
/// quadrant of the operand, the others are unused.
constexpr int64_t scale_row(int64_t data_row) {
  return data_row / kQuadrantPartitions * kQuadrantPartitions +
         data_row % kQuadrantPartitions / kGroupPartitions;
}

namespace checks {

/// SBUF, uint8 or float8_e8m0fnu, one scale per packed element of `data` and group; from as many
/// partitions as hold a row of scales (4 for 32 of data, 100 for 128) to those of the data. It
/// starts at a multiple of 4 partitions, so that several fit into the unused rows of a quadrant.
void scale_tile(std::string_view instruction, std::string_view operand, const View& scale,
                std::string_view data_name, int64_t partitions, int64_t columns);
/// A multiple of 32 partitions within limits.partitions.
void whole_quadrants(std::string_view instruction, std::string_view operand, const View& view,
                     const Architecture& architecture);

}  // namespace checks

}  // namespace neuron_sim
