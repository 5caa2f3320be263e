#include "device/runtime/kernel.h"

#include <algorithm>

#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

// Control logs whose timing is kept per kernel.
constexpr size_t kKeptTimings = 16;

}  // namespace

Kernel::Kernel(std::shared_ptr<const Program> program)
    : program_(std::move(program)), plan_(make_plan(*program_)) {}

Timing Kernel::timing(const ControlLog& log) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& known) { return known.log == log; });
  if (found != known_.end()) return found->timing;
  ++simulations_;
  Timing timing = simulate(*program_, log);
  if (known_.size() == kKeptTimings) known_.erase(known_.begin());
  known_.push_back({log, timing});
  return timing;
}

int64_t Kernel::simulations() const {
  const std::lock_guard lock(mutex_);
  return simulations_;
}

}  // namespace neuron_sim
