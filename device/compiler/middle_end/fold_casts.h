#pragma once
// fold_casts: a cast of a store moves into the copy that fills the stored tile.
//
// Known (dtypes in the public attention traces, neuronx-cc 2.23): float32 results stored as
// bfloat16 are cast by the copy out of PSUM when there is one (1 of 1), else by the transfer (1 of
// 1).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// SBUF tiles that one tensor_copy out of PSUM of the same dtype fills and one transfer stores with
/// another dtype get that dtype: the copy casts. Both round once, to nearest even.
void fold_casts(StraightLine& line);

}  // namespace neuron_sim
