#pragma once
// A program walked in program order on one thread: the only way that knows registers.

#include "device/execute/run_instance.h"
#include "device/program/control_log.h"
#include "device/program/cursor.h"

namespace neuron_sim {

/// Iterations of loops on registers that one run may take, so that an endless loop is an error:
/// NEURON_SIM_MAXIMUM_ITERATIONS, else 2^20. KernelError for a value that is no positive number.
int64_t maximum_iterations();

/// The effect of a meeting of cores on memory: nothing at a barrier, both directions of an
/// exchange. No core's src overlaps its dst (check_meeting), so one comes after the other.
void meet_in_memory(const Program& program, const Meeting& meeting, InstanceRunner& runner);

/// Visitor that runs every instance and notes what data decided. Loops on registers end with a
/// KernelError that names their line when they take more than `iterations` in all, and before their
/// first iteration when nothing in them can end them.
class SerialRun {
 public:
  SerialRun(const Program& program, InstanceRunner& runner, int64_t iterations,
            RunObserver* observer = nullptr)
      : program_(program), runner_(runner), maximum_(iterations), observer_(observer) {}

  int64_t trip_count(const Loop& loop);
  int64_t boundary(const Loop& loop, uint32_t, int64_t iteration, int64_t trips);
  void instruction(uint32_t index, const int64_t* variables);
  void meet(const Meeting& meeting) {
    meet_in_memory(program_, meeting, runner_);
    if (observer_ != nullptr) observer_->meets(meeting);
  }

  ControlLog log;

 private:
  int64_t value(const Loop& loop, int64_t register_index);
  int64_t value(const Loop& loop, const RegisterValue& value);
  void set(const Loop& loop, int64_t value);
  std::string describe(const Loop& loop) const;
  [[noreturn]] void refuse(const Loop& loop, int64_t held) const;

  const Program& program_;
  InstanceRunner& runner_;
  int64_t maximum_;
  RunObserver* observer_;
  int64_t iterations_ = 0;  // of loops on registers so far
  /// Where the open ranges began, by core and level.
  std::array<int64_t, size_t{kMaximumLoopDepth} * kMaximumCores> start_{};
};

}  // namespace neuron_sim
