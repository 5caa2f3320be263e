#pragma once
// What fills SBUF and PSUM over a program.

#include <string>

#include "device/program/program.h"

namespace neuron_sim {

/// For people: per memory its size, the most bytes per partition that are live at once and where,
/// then the table of its tiles (tile_table.h), with how many of them are live at that place. A loop
/// counts as a whole for tiles made outside of it. Last come the spills, if any.
std::string memory_listing(const Program& program);

}  // namespace neuron_sim
