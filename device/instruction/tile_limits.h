#pragma once
// Operand-specific size limits, in addition to those of every access pattern.

#include <cstdint>
#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// `size of dimension 1 in 'x[128, 512]' of 'transpose' exceed architecture limitation of 128.`
/// (err_size_of_dimension_exceed_arch_limit), for dimension 0 and for the free dimensions
/// together; both must be at least 1.
void check_tile_size(std::string_view instruction, std::string_view operand, const View& view,
                     int64_t partition_limit, int64_t free_limit, const Architecture& architecture);

}  // namespace neuron_sim
