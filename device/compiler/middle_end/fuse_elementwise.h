#pragma once
// fuse_elementwise: two element-wise instructions of a chain become one. No published stack has it;
// advice tries it for kernels that could write the one instruction.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Removes a tensor_scalar of one operation whose fp32 result one later instruction alone reads,
/// all of it in the same order, where that instruction can do the operation too: a tensor_scalar of
/// one operation does two, a tensor_tensor becomes a scalar_tensor_tensor, an activation without
/// scale and bias takes them. Every operation rounds to fp32 either way, so bytes stay the same.
/// Tiles placed by hand stay.
void fuse_elementwise(StraightLine& line);

}  // namespace neuron_sim
