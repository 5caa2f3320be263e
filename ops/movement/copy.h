#pragma once
// Copies within the device: any strides on either side.
//
// Algorithm: equal dtypes go from HBM to HBM by DMA alone, in the pieces of a pointwise kernel;
// others through SBUF with a cast (ops/pointwise).
//
// Roofline: DMA, twice the bytes.

#include "ops/hbm_tensor.h"

namespace neuron_sim {

/// result = source, of one shape and dtype.
void emit_copy(Builder& builder, const HbmTensor& source, const HbmTensor& result);

}  // namespace neuron_sim
