#pragma once
// Operators without a device kernel run on the CPU, visibly: counted, listed, or refused.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "csrc/export.h"

namespace neuron_sim {

/// What happens when an operator has no device kernel.
enum class FallbackPolicy {
  kAllow,  ///< it runs on the CPU and is counted
  kWarn,   ///< and the first time it warns
  kError   ///< it raises NotImplementedError (strict mode)
};

/// "allow", "warn" or "error"; c10::ValueError otherwise.
NEURON_SIM_TORCH_API FallbackPolicy parse_fallback_policy(std::string_view name);
/// The policy of this process; NEURON_SIM_FALLBACK at first, kAllow without it.
NEURON_SIM_TORCH_API FallbackPolicy fallback_policy();
NEURON_SIM_TORCH_API void set_fallback_policy(FallbackPolicy policy);

/// How often each operator fell back, by name with overload ("aten::add.Tensor").
NEURON_SIM_TORCH_API std::map<std::string, int64_t> fallback_counts();
NEURON_SIM_TORCH_API void reset_fallback_counts();

/// Applies the policy to one use of operator `name` (and counts it if it is allowed). Call it first
/// in a device kernel that computes on the CPU. `reason`: half a sentence, why no device kernel
/// takes the arguments; empty when there is none.
NEURON_SIM_TORCH_API void note_fallback(const std::string& name, const std::string& reason = "");

/// Runs the operator on the CPU with the arguments on the stack, or raises in strict mode.
/// `reason`: why no device kernel takes them; empty when there is none.
void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::string& reason);

}  // namespace neuron_sim
