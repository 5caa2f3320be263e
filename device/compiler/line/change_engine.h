#pragma once
// A program with the element-wise work of one source line on another engine, for advice.

#include <memory>
#include <string_view>

#include "device/program/program.h"

namespace neuron_sim {

/// The program in which the element-wise instructions of `source_line` run on `engine`, those that
/// it accepts, as if the kernel named it. Null when none of them moves.
std::shared_ptr<const Program> on_engine(const Program& program, std::string_view source_line,
                                         EngineKind engine);

}  // namespace neuron_sim
