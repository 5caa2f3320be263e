#pragma once
// A compiled kernel: a Program with everything that is derived from it once.

#include <memory>
#include <mutex>
#include <vector>

#include "device/execute/plan.h"
#include "device/program/control_log.h"
#include "device/program/program.h"
#include "device/timeline/timing.h"

namespace neuron_sim {

/// Name of the Python capsules that hold a std::shared_ptr<const Kernel>.
inline constexpr const char* kKernelCapsule = "neuron_sim.Kernel";

/// Shared by all launches; thread safe.
class Kernel {
 public:
  explicit Kernel(std::shared_ptr<const Program> program);

  const Program& program() const { return *program_; }
  const ExecutionPlan& plan() const { return plan_; }
  /// Simulated time of a run that decided `log`; computed once per log (the last few are kept).
  Timing timing(const ControlLog& log = {}) const;
  /// How often timing() had to simulate.
  int64_t simulations() const;

 private:
  struct Known {
    ControlLog log;
    Timing timing;
  };
  std::shared_ptr<const Program> program_;
  ExecutionPlan plan_;
  mutable std::mutex mutex_;
  mutable std::vector<Known> known_;  // oldest first
  mutable int64_t simulations_ = 0;
};

}  // namespace neuron_sim
