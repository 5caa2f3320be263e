#pragma once
// The transpose mode of the PE array, which moves bits (features.exact_transpose).

#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst[m, column] = source[row, m] bit by bit. Elements of one byte fill the low byte of a 2-byte
/// dst element, whose upper byte becomes zero.
void move_row_to_column(const Access& source, int64_t row, const Access& dst, int64_t column);

namespace checks {

/// The dtype of dst in transpose mode: that of the source (`source_name`, for the message; `reason`
/// is its end). PSUM receives 1-byte elements as 16-bit ones with a zero upper byte
/// (trainium2_arch.rst, "Built-in Transpose Support"), so dst is of a 2-byte dtype, or of the
/// source's dtype with all its elements an even number of bytes apart.
void exact_transpose_dst(std::string_view instruction, std::string_view source_name,
                         const View& source, const View& dst, std::string_view reason);

}  // namespace checks

}  // namespace neuron_sim
