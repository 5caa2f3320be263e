#pragma once
// Joins max pooling with the convolution before it: maxima are taken while its outputs are in SBUF,
// so that the image before pooling is neither stored nor loaded.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Joins max pooling with the kernels before it. It joins the last kernel whose result it reads,
/// when that one can pool (FusionTraits::pooled, or followed), nothing else reads the result, and
/// pooling can move to its place. Windows lie inside the image and do not overlap: outputs that
/// windows of neighbouring tiles share would be computed twice. Kernels whose tiles would not fit
/// SBUF together stay apart. The joined kernel may round its result before it is pooled
/// (FusionTraits::rounds_result): rounding keeps the order, so the maxima are the same, but for the
/// sign of a zero among values that are rounded to zeros of both signs.
void pool_products(Graph& graph);

}  // namespace neuron_sim
