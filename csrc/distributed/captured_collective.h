#pragma once
// A collective as a kernel of a graph that is being captured while only time is wanted.

#include <ATen/core/Tensor.h>

#include "device/runtime/group_time.h"

namespace neuron_sim {

/// Adds the collective of ranks 0..ranks - 1 to the calling thread's capture: outputs[i] of
/// inputs[i]. The capture is refused for strided tensors and for operations other than all-reduce,
/// all-gather and reduce-scatter.
void capture_collective(GroupOperation operation, at::ArrayRef<at::Tensor> inputs,
                        at::ArrayRef<at::Tensor> outputs, int ranks);

}  // namespace neuron_sim
