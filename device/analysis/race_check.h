#pragma once
// Races of two-core programs: accesses to HBM that nothing orders.

#include "device/program/program.h"

namespace neuron_sim {

/// Throws KernelError when the two cores touch the same bytes of an HBM tensor, at least one of
/// them writes, and no synchronisation orders them: the sentence names the tensor, both
/// instructions and the bytes. Throws also when the cores cannot meet (check_meeting). For programs
/// with hazard groups (finish_program).
///
/// An access of one core is ordered after one of the other if it waits, through the order of its
/// engine, the tiles it uses or an edge, for a meeting that follows the other access in program
/// order. A barrier orders its tensor and its engine, a sendrecv its tiles. Cores that run the same
/// line of a kernel and write the same bytes there are taken to write the same values, as in
/// kernels whose cores each compute what both need: their writes do not race, nor do a core's reads
/// after its own. Data-dependent accesses are not reported: register and indirect addresses, bodies
/// of register loops; a program that synchronises in a register loop is not checked at all: its
/// cores meet or fail at run time.
void check_races(const Program& program);

}  // namespace neuron_sim
