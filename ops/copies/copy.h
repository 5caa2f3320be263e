#pragma once
// Copies within the device: any strides on either side.
//
// Algorithm: equal dtypes go from HBM to HBM by DMA alone, in the pieces of a pointwise kernel;
// others through SBUF with a cast (ops/pointwise). A copy whose neighbours in the result are not
// neighbours in the source would need a separate descriptor for every element; where both sides
// have a dimension of neighbours, matrices of the two are transposed on chip instead
// (ops/copies/transpose.h). Elements that the result has several times side by side load once.
//
// Roofline: DMA, twice the bytes.

#include "ops/contract/fusion_traits.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

/// Elements that a matrix must have for a transpose on chip: one of many takes about 2.4 us, in
/// which the DMA engines move half as many single elements of 4 bytes (9 ns each; trn2, measured
/// with these kernels).
inline constexpr int64_t kTransposedElements = 512;

/// The result = the operand, of one shape and dtype.
void emit_copy(Builder& builder, HbmTensors operands, HbmTensors results);
inline constexpr KernelDefinition<NoOptions> kCopy{
    .name = "copy",
    .emit = without_options<emit_copy>,
    .traits = [](std::span<const TensorSpec>, const NoOptions&) {
      return FusionTraits{.operands = {{.batched = true}}, .copies = true};
    }};

}  // namespace neuron_sim
