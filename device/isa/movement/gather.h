#pragma once
// Moving single elements within a partition, bit by bit.

#include <cstdint>
#include <span>
#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// KernelError (kIndex) unless elements index .. index + count - 1 exist in a partition of `data`.
void check_gather_index(std::string_view instruction, std::string_view operand, const Access& data,
                        int64_t index, int64_t count, int64_t partition);
/// Element i of a partition of `target` = element elements[i] of a partition of `source`, both
/// counted in row-major order over the free dimensions. Same itemsize; everything is read before
/// anything is written.
void gather_row(const Access& source, int64_t source_partition, std::span<const int64_t> elements,
                const Access& target, int64_t target_partition);

}  // namespace neuron_sim
