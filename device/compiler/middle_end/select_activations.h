#pragma once
// select_activations: products with a number and sums with a vector are activations on
// generation 2.
//
// nki.isa.tensor_scalar leaves the engine to the compiler unless the kernel names one. Known
// (compiled programs of convolutions on generation 2, neuronx-cc 2.15 to 2.21): the bias, one
// element per partition, is added on Scalar in every instance of every program, also where Vector
// idles and where it is the busiest engine: 222 of 222 in each of four of ewang675/asst4-trainium
// at 16517553 (part2/kprofile_*.neff) and of six of sahiljain01/asst4-trainium at bc167552
// (file_pool_*.neff). The same author's tensor_tensor with the broadcast bias stays on Vector
// (part2/ file_pool_*.neff, 222 of 222). That products do the same is inferred: Scalar has no
// tensor_scalar on this generation, and one activation computes data * scale + bias. Later
// generations have one, and keep it on Vector, 16 of 16 in the four public attention traces.

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Replaces each tensor_scalar on Vector whose engine the kernel leaves open by the activation that
/// computes the same bytes, where Scalar has no tensor_scalar: (multiply), (add) and (multiply,
/// add), of which only a vector can be added.
void select_activations(StraightLine& line);

}  // namespace neuron_sim
