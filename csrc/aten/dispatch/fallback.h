#pragma once
// Operators without a device kernel run on the CPU, visibly: listed with a reason, or refused.
// Index arithmetic on int64, which the chip lacks, and random numbers that the host side draws are
// listed separately and always allowed.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/runtime/export.h"
#include "device/base/units.h"

namespace neuron_sim {

/// What happens when an operator has no device kernel for its arguments.
enum class FallbackPolicy {
  kAllow,  ///< it runs on the CPU and is counted
  kWarn,   ///< and the first time of each operator it warns: the default
  kError   ///< it raises NotImplementedError (strict mode)
};

/// The uses of one operator that ran on the CPU for one reason.
struct Fallback {
  std::string op;      ///< with overload: "aten::add.Tensor"
  std::string reason;  ///< why the device did not run it
  int64_t count = 0;
  Bytes moved{};  ///< over the host link, both directions
};

/// "allow", "warn" or "error"; c10::ValueError otherwise.
NEURON_SIM_TORCH_API FallbackPolicy parse_fallback_policy(std::string_view name);
/// The policy of this process. At first kError with NEURON_SIM_STRICT=1, else the value of
/// NEURON_SIM_FALLBACK, else kWarn. c10::ValueError when NEURON_SIM_STRICT is not 0 or 1.
NEURON_SIM_TORCH_API FallbackPolicy fallback_policy();
NEURON_SIM_TORCH_API void set_fallback_policy(FallbackPolicy policy);

/// All fallbacks since the start or the last reset, by operator and reason.
NEURON_SIM_TORCH_API std::vector<Fallback> fallbacks();
/// How often each operator ran on the host side of the simulator because it computes only int64
/// indices or scalars, or because it draws random numbers (RandomSource::kHost).
NEURON_SIM_TORCH_API std::map<std::string, int64_t> host_operators();
/// Clears both, and the record of warnings given.
NEURON_SIM_TORCH_API void reset_fallbacks();

/// Throws c10::NotImplementedError, naming operator and reason, when the policy is kError. Call it
/// before anything is computed on the CPU.
NEURON_SIM_TORCH_API void check_fallback(const std::string& op, const std::string& reason);
/// RuntimeError if falls_back_only_without_kernel(), for an operator whose kernel has refused.
NEURON_SIM_TORCH_API void check_refused(const std::string& op, const std::string& reason);
/// Counts one use after it has run; warns if that is the policy.
NEURON_SIM_TORCH_API void count_fallback(const std::string& op, const std::string& reason,
                                         Bytes moved);
NEURON_SIM_TORCH_API void count_host_operator(const std::string& op);

/// RuntimeError, in torch's words, unless every `out` argument of `op` on `stack` is where its
/// first tensor on a device is: kernels write wherever the storage lies.
void check_out_devices(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/// Runs `op` with the arguments on `stack` on the CPU and leaves its results there, on the device.
/// Index arithmetic is a host-side operator: it takes no simulated time, like every instruction
/// of the submitting program. So are random numbers of the host, which cross the host link.
/// Anything else is a fallback, refused in strict mode; `why` is half a sentence on why no device
/// kernel takes the arguments; empty if a kernel takes them.
NEURON_SIM_TORCH_API void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                                    const std::string& why);

}  // namespace neuron_sim
