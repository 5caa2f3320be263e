#pragma once
// How the operators of the calling thread run: at once, or later as parts of the graph that is
// being captured (capture.h).

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// Whether an operator has computed its results when it returns. While a graph is captured it has
/// not: the host must not read them, and what depends on constants alone is computed only once.
bool runs_at_once();
/// Whether the tensor's contents are the same in every run of the graph that is being captured.
bool holds_constant(const at::Tensor& tensor);
/// Whether kernels transpose operands bit by bit: at once always, else as the graph's options say.
bool exact_transposes();

}  // namespace neuron_sim
