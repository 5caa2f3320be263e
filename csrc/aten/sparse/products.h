#pragma once
// Products of a sparse and a dense matrix: rows of the dense one are gathered, multiplied and added
// to the rows of the result that the indices name.

#include <torch/library.h>

namespace neuron_sim {

/// addmm() for COO matrices, from which torch composes the rest.
void register_products(torch::Library& m);
/// addmm() and mm() for compressed ones.
void register_compressed_products(torch::Library& m);

}  // namespace neuron_sim
