#pragma once
// Computes the bytes of a Program: what the chip computes, never when.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "device/execute/plan.h"
#include "device/execute/rank_rendezvous.h"
#include "device/execute/run_observer.h"
#include "device/execute/thread_pool.h"
#include "device/memory/core_memory.h"
#include "device/program/control_log.h"
#include "device/program/program.h"

namespace neuron_sim {

/// New memories for the cores of a program, which may need more than its chip has
/// (Program::overflow).
class ProgramMemories {
 public:
  explicit ProgramMemories(const Program& program);
  std::span<CoreMemory* const> all() const { return pointers_; }

 private:
  std::vector<std::unique_ptr<CoreMemory>> memories_;
  std::vector<CoreMemory*> pointers_;
};

/// Runs `program` on the memories of its cores, one each. `arguments` holds the host address of
/// each argument's first element. Returns what data-dependent control flow decided (empty for other
/// programs). Independent instances run on the pool's threads in any order that the dependencies
/// allow: the bytes are the same for any number of threads. Between two meetings (core_barrier,
/// sendrecv) core 0 comes before core 1. KernelError for indices out of bounds at run time and for
/// cores that deadlock; the outputs are then unspecified, all memories stay
/// usable.
///
/// `member`: the rank that runs the program, on the calling thread; without one it is rank 0, the
/// only one. A program with collectives runs in program order. `observer`, if any, looks on; the
/// program then runs in program order on the calling thread.
ControlLog execute(const Program& program, const ExecutionPlan& plan,
                   std::span<CoreMemory* const> memories, std::span<std::byte* const> arguments,
                   ThreadPool& pool, const RankMember* member = nullptr,
                   RunObserver* observer = nullptr);
/// Executes a program of one core.
ControlLog execute(const Program& program, const ExecutionPlan& plan, CoreMemory& memory,
                   std::span<std::byte* const> arguments, ThreadPool& pool);

}  // namespace neuron_sim
