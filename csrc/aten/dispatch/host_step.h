#pragma once
// Work of device operators that the host side of the simulator does with values of tensors: at once
// in an eager operator, and again at every run of a compiled graph. Each piece is an operator of
// the library neuron_sim_host, so that a graph can keep it.

#include <ATen/core/stack.h>

#include <type_traits>
#include <utility>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/launch/execution.h"

namespace neuron_sim {

/// The results of the operator `name` of neuron_sim_host, a step of the graph being captured.
torch::jit::Stack capture_host_step(const char* name, torch::jit::Stack arguments);

/// step(arguments...), which the operator `name` of neuron_sim_host does: at once, or as a step of
/// the graph being captured. One with a result counts as an operator on the host, a check does not.
template <typename Result, typename... Parameters, typename... Arguments>
Result run_host_step(const char* name, Result (*step)(Parameters...),
                     const Arguments&... arguments) {
  if (runs_at_once()) {
    if constexpr (!std::is_void_v<Result>) count_host_operator(name);
    return step(arguments...);
  }
  torch::jit::Stack results = capture_host_step(name, {arguments...});
  if constexpr (!std::is_void_v<Result>) return std::move(results.back()).toTensor();
}

}  // namespace neuron_sim
