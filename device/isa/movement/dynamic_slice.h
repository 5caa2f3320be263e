#pragma once
// A slice whose start is a number in memory, as the dynamic copies use it.

#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// Elements start ... start + size - 1 of the first free dimension of `region`, where start is the
/// int32 or uint32 in `offset` and `size` that of `like`, the operand on the other side.
/// KernelError (kIndex) in the vendor's wording when that is not within the region.
Access dynamic_slice(std::string_view region_name, const Access& region, const Access& offset,
                     const Access& like);

namespace checks {

/// `region` and `fixed` have the same partitions, rank and free sizes except for the first free
/// dimension, where the region is at least as large; `offset` is one int32 or uint32 in SBUF.
void dynamic_slice(std::string_view instruction, std::string_view region_name, const View& region,
                   std::string_view fixed_name, const View& fixed, const View& offset,
                   EngineKind engine, const Architecture& architecture);

}  // namespace checks

/// The step of a copy of `fixed`: its time has the minimum of data-dependent addresses
/// (max(600, elements) cycles, docs/hardware_facts.md#tensor_copy_dynamic_src).
Demand dynamic_copy_demand(EngineKind engine, const View& source, const View& target,
                           const View& fixed);

}  // namespace neuron_sim
