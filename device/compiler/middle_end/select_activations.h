#pragma once
// select_activations: products and sums with a number or a vector are activations on generation 2.
//
// nki.isa.tensor_scalar leaves the engine to the compiler unless the kernel names one. Known
// (compiled programs of convolutions on generation 2, neuronx-cc 2.15 to 2.21): the bias, one
// element per partition, is added on Scalar in every instance of every program, also where Vector
// idles and where it is the busiest engine: 222 of 222 in each of four of ewang675/asst4-trainium
// at 16517553 (part2/kprofile_*.neff) and of six of sahiljain01/asst4-trainium at bc167552
// (file_pool_*.neff). The same author's tensor_tensor with the broadcast bias stays on Vector
// (part2/ file_pool_*.neff, 222 of 222). Scalar has no tensor_scalar on this generation, and one
// activation computes data * scale + bias. Later generations have one, and keep it on Vector, 16 of
// 16 in the four public attention traces.
//
// Derived (profile of NKIBench's silu, zhang677/AccelOpt): 448 sums with 1 lie between an
// activation and a reciprocal, and Scalar is active for as long as 448 more activations take,
// Vector for as long as the 448 reciprocals and products alone. A bias is a column of SBUF: that
// each number is set once, outside of the loops, is how the vendor's compiler itself writes the
// activations in NKIBench's kernels (`memset.172` of silu, `memset.643` of adamw).

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Replaces each tensor_scalar on Vector whose engine the kernel leaves open by the activation that
/// computes the same bytes, where Scalar has no tensor_scalar: (multiply), (add) and (multiply,
/// add). A number that is added becomes a column of SBUF, one for all that add it.
void select_activations(StraightLine& line);

}  // namespace neuron_sim
