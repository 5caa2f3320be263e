#pragma once
// Checks that a pass preserved the meaning of a straight line.

#include "device/compiler/pass.h"

namespace neuron_sim {

/// Whether run_pass() verifies each pass: in debug builds, and in the core tests.
bool verifies_passes();
/// Turns it on or off.
void verify_passes(bool on);

/// Throws SimulatorBug that names the pass, the instruction and what is wrong, unless after the
/// pass every operand lies within its tile, every read on chip that found all its bytes written
/// still does, every instance follows those that it has an edge from, and what the pass declares to
/// keep is unchanged.
void verify(const Pass& pass, const StraightLine& before, const StraightLine& after);

}  // namespace neuron_sim
