#pragma once
// Tensors of rows as matrices.

#include <vector>

#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// Tensors of one shape as [leading..., features], their leading dimensions collapsed together.
std::vector<View> collapsed_rows(HbmTensors tensors);

}  // namespace neuron_sim
