#pragma once
// Properties derived once when a kernel is complete.

#include "device/program/program.h"

namespace neuron_sim {

/// Fills in argument directions, hazard groups, widened tiles and loop periods.
///
/// Hazard groups: tiles whose bytes may overlap share one access history. HBM tensors that are
/// only read, or written so that no two instances touch the same byte, need none (except tensors of
/// barriers). HBM tensors have one group for all cores; each core keeps its own history.
/// Widened tiles: low-precision SBUF tiles that nc_matmul reads and that are only ever accessed
/// with their own dtype; the executor keeps an fp32 copy of them.
/// Loop period: iterations after which all rings that the loop variable turns come full circle.
/// KernelError for programs of two cores that race or cannot meet (race_check.h).
void finish_program(Program& program);

}  // namespace neuron_sim
