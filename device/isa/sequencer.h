#pragma once
// What the register instructions share: they run on the sequencer of any engine.

#include <cstdint>
#include <string_view>

#include "device/isa/instruction_type.h"

namespace neuron_sim {

/// Sync, whose sequencer has the least else to do.
EngineKind sequencer_engine(const Draft& draft, const Architecture& architecture);
/// One step of the sequencer.
Demand sequencer_demand(const Draft& draft, const Architecture& architecture);
/// KernelError unless the engine is one of the five and has that register.
void check_register(std::string_view instruction, EngineKind engine, int64_t register_index,
                    const Architecture& architecture);
/// Sets a register of the sequencer that executes the instance.
void write_register(const Instance& instance, int64_t register_index, int64_t value);

}  // namespace neuron_sim
