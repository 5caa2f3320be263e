#pragma once
// Shared by the register instructions: they run on the sequencer of any engine.

#include <cstdint>
#include <string_view>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// Sync, whose sequencer is otherwise the least busy.
EngineKind sequencer_engine(const Draft& draft, const Architecture& architecture);
/// One step of the sequencer.
Demand sequencer_demand(const Draft& draft, const Architecture& architecture);
/// KernelError unless the engine is one of the five and has that register.
void check_register(std::string_view instruction, EngineKind engine, int64_t register_index,
                    const Architecture& architecture);
/// KernelError unless `value` is an int32 or uint32 value.
void check_register_value(std::string_view instruction, std::string_view attribute, int64_t value);
/// KernelError unless the operand is one int32 or uint32 element in HBM or SBUF.
void check_register_memory(std::string_view instruction, std::string_view operand,
                           const View& view);
/// The single element of an operand, with its sign.
int64_t read_register_memory(const Access& access);
/// Registers of the sequencer that executes the instance.
int64_t read_register(const Instance& instance, int64_t register_index);
void write_register(const Instance& instance, int64_t register_index, int64_t value);

}  // namespace neuron_sim
