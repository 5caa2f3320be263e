#pragma once
// Functional forms of the operator table's structured operators (plain_call.h).

#include <torch/library.h>

#include "csrc/aten/pointwise/operator_table.h"

namespace neuron_sim {

/// Registers the functional form of the out= overload `overload` of a row, if it takes one to three
/// tensors and nothing else: "exp" of "exp.out".
void register_functional_form(torch::Library& library, const PointwiseRow& row,
                              const std::string& overload);

}  // namespace neuron_sim
