#include <c10/util/Exception.h>

#include <cstdlib>
#include <mutex>

#include "csrc/aten/fallback.h"

namespace neuron_sim {
namespace {

struct FallbackState {
  std::mutex mutex;
  FallbackPolicy policy = FallbackPolicy::kAllow;
  std::map<std::string, int64_t> counts;

  FallbackState() {
    const char* setting = std::getenv("NEURON_SIM_FALLBACK");
    if (setting != nullptr && *setting != '\0') policy = parse_fallback_policy(setting);
  }
};

FallbackState& state() {
  static auto* const instance = new FallbackState;
  return *instance;
}

}  // namespace

FallbackPolicy parse_fallback_policy(std::string_view name) {
  if (name == "allow") return FallbackPolicy::kAllow;
  if (name == "warn") return FallbackPolicy::kWarn;
  if (name == "error") return FallbackPolicy::kError;
  TORCH_CHECK_VALUE(false, "neuron_sim: the fallback policy '", name,
                    "' is none of 'allow', 'warn' and 'error'");
}

FallbackPolicy fallback_policy() {
  const std::lock_guard lock(state().mutex);
  return state().policy;
}

void set_fallback_policy(FallbackPolicy policy) {
  const std::lock_guard lock(state().mutex);
  state().policy = policy;
}

std::map<std::string, int64_t> fallback_counts() {
  const std::lock_guard lock(state().mutex);
  return state().counts;
}

void reset_fallback_counts() {
  const std::lock_guard lock(state().mutex);
  state().counts.clear();
}

void note_fallback(const std::string& name, const std::string& reason) {
  bool warn = false;
  {
    const std::lock_guard lock(state().mutex);
    TORCH_CHECK_NOT_IMPLEMENTED(
        state().policy != FallbackPolicy::kError, "neuron_sim: operator '", name,
        "' has no device kernel", reason.empty() ? "" : " for this call (" + reason + ")",
        " and the CPU fallback is switched off (NEURON_SIM_FALLBACK=error or "
        "torch.neuron_sim.strict())");
    const int64_t uses = ++state().counts[name];
    warn = uses == 1 && state().policy == FallbackPolicy::kWarn;
  }
  if (warn) {
    TORCH_WARN("neuron_sim: operator '", name, "' has no device kernel and runs on the CPU");
  }
}

}  // namespace neuron_sim
