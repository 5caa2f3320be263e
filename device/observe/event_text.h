#pragma once
// How views name what a recording holds.

#include <string>

#include "device/timeline/timeline.h"

namespace neuron_sim {

/// "nc_matmul load stationary", "dma_copy trigger".
std::string event_name(const Program& program, const StepEvent& event);
/// "tile [128, 512] float32 sbuf".
std::string operand_text(const Program& program, const Operand& operand);
/// File and line of the kernel, "" without one.
std::string source_of(const Program& program, const Instruction& instruction);
/// "Vector", "DMA queue of Sync".
std::string slot_name(Slot slot);

}  // namespace neuron_sim
