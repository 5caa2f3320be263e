#pragma once
// zeros: empty sums, such as the gradient of a weight for an empty batch.

#include "device/builder/builder.h"
#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

/// out = 0 for an HBM view [R, C], not empty.
void emit_zeros(Builder& builder, const View& out);

}  // namespace neuron_sim
