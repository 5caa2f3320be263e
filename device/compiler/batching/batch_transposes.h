#pragma once
// batch_transposes: transposed tiles lie side by side in a bank of PSUM and leave it in one copy.
//
// Known (statement names in the four public attention traces, neuronx-cc 2.23): four transposes of
// 128 columns write to one bank and one copy of 512 columns empties it, 20 of 20, in float32 and
// bfloat16; results of products are copied bank by bank although they would fit (8 of 8).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Batches the copies out of PSUM of Tensor engine transposes over their innermost loop
/// (batch_statements.h), up to kBatchElements columns and a bank. The transposes are unchanged but
/// write to their part of the bank. Only where nothing else reads the transposed tile.
void batch_transposes(StraightLine& line);

}  // namespace neuron_sim
