#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/aten/dispatch/fallback_warning.h"
#include "csrc/runtime/semantics.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

struct Uses {
  int64_t count = 0;
  Bytes moved{};
};

FallbackPolicy policy_of_environment() {
  const std::string strict = setting("NEURON_SIM_STRICT");
  if (!strict.empty()) {
    TORCH_CHECK_VALUE(strict == "0" || strict == "1", "neuron_sim: NEURON_SIM_STRICT is '", strict,
                      "' and must be 0 or 1");
    if (strict == "1") return FallbackPolicy::kError;
  }
  const std::string policy = setting("NEURON_SIM_FALLBACK");
  return policy.empty() ? FallbackPolicy::kWarn : parse_fallback_policy(policy);
}

/// Process-wide, not per thread: backward passes run on PyTorch's threads.
struct FallbackState {
  std::mutex mutex;
  FallbackPolicy policy = policy_of_environment();
  std::map<std::pair<std::string, std::string>, Uses> fallbacks;  // by operator and reason
  std::map<std::string, int64_t> host_operators;
  std::set<std::string> warned;  // operators
};

std::atomic<void (*)(const std::string&)> fallback_warning = nullptr;

FallbackState& state() {
  static auto* const instance = new FallbackState;
  return *instance;
}

}  // namespace

void set_fallback_warning(void (*warn)(const std::string& text)) { fallback_warning = warn; }

FallbackPolicy parse_fallback_policy(std::string_view name) {
  if (name == "allow") return FallbackPolicy::kAllow;
  if (name == "warn") return FallbackPolicy::kWarn;
  if (name == "error") return FallbackPolicy::kError;
  TORCH_CHECK_VALUE(false, "neuron_sim: the fallback policy '", name,
                    "' is not one of 'allow', 'warn' and 'error'");
}

FallbackPolicy fallback_policy() {
  const std::lock_guard lock(state().mutex);
  return state().policy;
}

void set_fallback_policy(FallbackPolicy policy) {
  const std::lock_guard lock(state().mutex);
  state().policy = policy;
}

std::vector<Fallback> fallbacks() {
  const std::lock_guard lock(state().mutex);
  std::vector<Fallback> result;
  for (const auto& [key, uses] : state().fallbacks) {
    result.push_back({key.first, key.second, uses.count, uses.moved});
  }
  return result;
}

std::map<std::string, int64_t> host_operators() {
  const std::lock_guard lock(state().mutex);
  return state().host_operators;
}

void reset_fallbacks() {
  const std::lock_guard lock(state().mutex);
  state().fallbacks.clear();
  state().host_operators.clear();
  state().warned.clear();
}

void check_fallback(const std::string& op, const std::string& reason) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      fallback_policy() != FallbackPolicy::kError, "neuron_sim: operator '", op,
      "' would run on the CPU, which strict mode refuses (NEURON_SIM_STRICT=1 or "
      "torch.neuron_sim.strict()): ",
      reason);
}

void check_refused(const std::string& op, const std::string& reason) {
  TORCH_CHECK(!falls_back_only_without_kernel(), "operator '", op,
              "' does not run on the device: ", reason,
              " (TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1)");
}

void count_fallback(const std::string& op, const std::string& reason, Bytes moved) {
  bool warn = false;
  {
    const std::lock_guard lock(state().mutex);
    Uses& uses = state().fallbacks[{op, reason}];
    ++uses.count;
    uses.moved.count += moved.count;
    warn = state().policy == FallbackPolicy::kWarn && state().warned.insert(op).second;
  }
  if (!warn) return;
  const std::string text = c10::str("neuron_sim: operator '", op, "' runs on the CPU: ", reason,
                                    ". Said once per operator; torch.neuron_sim.fallbacks() counts "
                                    "all uses, NEURON_SIM_FALLBACK=allow is silent.");
  if (const auto warning = fallback_warning.load()) return warning(text);
  TORCH_WARN(text);
}

void count_host_operator(const std::string& op) {
  const std::lock_guard lock(state().mutex);
  ++state().host_operators[op];
}

}  // namespace neuron_sim
