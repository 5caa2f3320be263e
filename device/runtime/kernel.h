#pragma once
// A compiled kernel: a Program with everything that is derived from it once.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "device/execute/plan.h"
#include "device/program/control_log.h"
#include "device/program/program.h"
#include "device/timeline/timing.h"

namespace neuron_sim {

/// Name of the Python capsules that hold a std::shared_ptr<const Kernel>.
inline constexpr const char* kKernelCapsule = "neuron_sim.Kernel";

/// An immediate that each launch gives: number `number` of the launch is Program::attributes[
/// attribute], a real number.
struct LaunchNumber {
  uint32_t attribute = 0;
  uint32_t number = 0;
};

/// Shared by all launches; thread safe.
class Kernel {
 public:
  /// `numbers`: the immediates on which neither time nor structure depends, so that launches that
  /// differ in them share the kernel.
  explicit Kernel(const std::shared_ptr<const Program>& program,
                  std::vector<LaunchNumber> numbers = {});
  /// A kernel that takes the time of `timed` and computes the bytes of `computed`, from which a
  /// compiler made it and which has the same arguments: its passes may keep values unrounded.
  Kernel(std::shared_ptr<const Program> timed, std::shared_ptr<const Program> computed);

  /// The program that is timed. Its numbers are those it was compiled with.
  const Program& program() const { return *program_; }
  /// The program whose bytes launches compute; program() of most kernels.
  const Program& computed() const { return *computed_; }
  /// The plan by which computed() is executed.
  const ExecutionPlan& plan() const { return plan_; }
  /// Simulated time of a run that decided `log`; computed once per log and assumed_trips() (the
  /// last few are kept).
  Timing timing(const ControlLog& log = {}) const;
  /// How often timing() had to simulate.
  int64_t simulations() const;
  /// Host memory that it takes, about, without what timing() keeps of data-dependent runs.
  int64_t bytes() const { return bytes_; }

  /// The program that one launch executes: computed(), or a copy with other numbers, which later
  /// launches use again.
  class ProgramOfLaunch {
   public:
    /// Without numbers: the program's own. The kernel outlives it.
    ProgramOfLaunch(const Kernel& kernel, std::span<const double> numbers);
    ProgramOfLaunch(const ProgramOfLaunch&) = delete;
    ~ProgramOfLaunch();
    const Program& operator*() const { return copy_ ? *copy_ : kernel_.computed(); }

   private:
    const Kernel& kernel_;
    std::unique_ptr<Program> copy_;
  };

 private:
  Kernel(std::shared_ptr<const Program> timed, std::shared_ptr<const Program> computed,
         std::vector<LaunchNumber> numbers);
  struct Known {
    ControlLog log;
    std::optional<int64_t> assumed_trips;
    Timing timing;
  };
  /// Whether computed() has these numbers, to the bit.
  bool has(std::span<const double> numbers) const;

  std::shared_ptr<const Program> program_, computed_;
  ExecutionPlan plan_;
  std::vector<LaunchNumber> numbers_;
  int64_t bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<Known> known_;  // oldest first
  mutable int64_t simulations_ = 0;
  mutable std::mutex copies_mutex_;
  mutable std::vector<std::unique_ptr<Program>> copies_;  // that no launch uses
};

}  // namespace neuron_sim
