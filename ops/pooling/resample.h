#pragma once
// resample: a linear map along rows and columns of planes: average pooling, interpolation, and the
// gradients of both.
//
// Algorithm: planes lie on partitions, so an axis of the map takes a few instructions of Vector per
// run of outputs whose inputs are equally far apart (strided access patterns): rows first, into an
// fp32 tile, then columns. Everything is added up in fp32 and rounded once. No product with a zero
// weight: a NaN or infinity reaches only the outputs that have it as input.
//
// Roofline: Vector, about (taps of a row + taps of a column) cycles per output and partition.

#include "ops/blocks/axis_taps.h"
#include "ops/contract/fusion_traits.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct ResampleOptions {
  AxisTaps rows, columns;
  static constexpr std::array kFields{"rows", "columns"};
};

/// output[n, c, y, x] = sum of rows[y], columns[x] of weights * input[n, c, ., .]. input
/// [N, C, H, W], output [N, C, OH, OW] with as many rows and columns as there are taps; any float
/// dtypes and strides, none empty. KernelError when the inputs of one output do not fit SBUF.
void emit_resample(Builder& builder, HbmTensors operands, HbmTensors results,
                   const ResampleOptions& options);
inline constexpr KernelDefinition<ResampleOptions> kResample{
    .name = "resample", .emit = emit_resample, .traits = batched<true>};

}  // namespace neuron_sim
