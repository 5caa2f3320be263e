#include "device/execute/executor.h"

#include <atomic>
#include <memory>
#include <queue>

#include "device/base/errors.h"
#include "device/execute/run_instance.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

// Instances per graph of a program too long to keep.
constexpr size_t kWindow = 8192;

/// Runs one graph on all threads of a pool. Ready instances are taken in program order.
class GraphRun {
 public:
  GraphRun(const Program& program, const InstanceGraph& graph)
      : program_(program),
        graph_(graph),
        waits_(std::make_unique<std::atomic<int32_t>[]>(graph.instances.size())) {
    for (size_t i = 0; i < graph.instances.size(); ++i) {
      waits_[i].store(graph.waits[i], std::memory_order_relaxed);
      if (graph.waits[i] == 0) ready_.push(static_cast<uint32_t>(i));
    }
    left_ = graph.instances.size();
  }

  void work(InstanceRunner& runner) {
    std::vector<uint32_t> released;
    uint32_t id = 0;
    while (take(released, id)) {
      const PlannedInstance& instance = graph_.instances[id];
      try {
        runner.run(program_.instructions[instance.instruction],
                   graph_.locations.data() + instance.first_location);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        available_.notify_all();
        throw;
      }
      released.clear();
      for (uint32_t s = graph_.first_successor[id]; s < graph_.first_successor[id + 1]; ++s) {
        const uint32_t next = graph_.successors[s];
        if (waits_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) released.push_back(next);
      }
    }
  }

 private:
  /// Hands in what the last instance released, takes the first ready one. False at the end.
  bool take(const std::vector<uint32_t>& released, uint32_t& id) {
    std::unique_lock lock(mutex_);
    for (const uint32_t next : released) ready_.push(next);
    available_.wait(lock, [&] { return failed_ || left_ == 0 || !ready_.empty(); });
    if (failed_ || left_ == 0) return false;
    id = ready_.top();
    ready_.pop();
    if (--left_ == 0) {
      available_.notify_all();
    } else if (!ready_.empty()) {
      available_.notify_one();
    }
    return true;
  }

  const Program& program_;
  const InstanceGraph& graph_;
  std::unique_ptr<std::atomic<int32_t>[]> waits_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;
  std::mutex mutex_;
  std::condition_variable available_;
  size_t left_ = 0;  // not yet taken
  bool failed_ = false;
};

void run_graph(const Program& program, const InstanceGraph& graph, CoreMemory& memory,
               std::span<std::byte* const> arguments, ThreadPool& pool) {
  GraphRun run(program, graph);
  pool.run([&](int) {
    InstanceRunner runner(program, memory, arguments);
    run.work(runner);
  });
}

/// Walks in program order on the calling thread, registers and all.
class SerialRun {
 public:
  SerialRun(const Program& program, InstanceRunner& runner) : program_(program), runner_(runner) {}

  int64_t trip_count(const Loop& loop) {
    if (loop.register_index < 0) return loop.trip_count;
    const int64_t trips =
        runner_.registers(loop.engine).values[static_cast<size_t>(loop.register_index)];
    if (trips < 0 || trips > loop.bound) {
      fail(text("loop of kernel '", program_.kernel, "': register ", loop.register_index,
                " holds a trip count of ", trips, ", the loop allows 0 to ", loop.bound, "."),
           ErrorKind::kIndex);
    }
    log.values.push_back(trips);
    return trips;
  }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }

  void instruction(uint32_t index, const int64_t* variables) {
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    const int64_t* registers = runner_.registers(instruction.engine).values.data();
    std::array<Location, kMaximumOperands> locations;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].present()) {
        locations[i] = locate(program_, operands[i], variables, registers);
      }
    }
    runner_.run(instruction, locations.data());
    if (runner_.moved_rows() >= 0) log.values.push_back(runner_.moved_rows());
  }

  ControlLog log;

 private:
  const Program& program_;
  InstanceRunner& runner_;
};

/// Builds and runs a graph per window of instances.
class WindowRun {
 public:
  WindowRun(const Program& program, CoreMemory& memory, std::span<std::byte* const> arguments,
            ThreadPool& pool)
      : program_(program), memory_(memory), arguments_(arguments), pool_(pool), builder_(program) {}

  int64_t trip_count(const Loop& loop) const { return loop.trip_count; }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }
  void instruction(uint32_t index, const int64_t* variables) {
    builder_.add(index, variables);
    if (builder_.size() == kWindow) flush();
  }
  void flush() { run_graph(program_, builder_.take(), memory_, arguments_, pool_); }

 private:
  const Program& program_;
  CoreMemory& memory_;
  std::span<std::byte* const> arguments_;
  ThreadPool& pool_;
  GraphBuilder builder_;
};

ControlLog run_serial(const Program& program, const ExecutionPlan& plan, InstanceRunner& runner) {
  const SingleOpenMpThread single;
  if (plan.resolved) {
    for (const PlannedInstance& instance : plan.graph.instances) {
      runner.run(program.instructions[instance.instruction],
                 plan.graph.locations.data() + instance.first_location);
    }
    return {};
  }
  SerialRun run(program, runner);
  Cursor<SerialRun>(program, run).walk();
  return std::move(run.log);
}

}  // namespace

ControlLog execute(const Program& program, const ExecutionPlan& plan, CoreMemory& memory,
                   std::span<std::byte* const> arguments, ThreadPool& pool) {
  require(arguments.size() == program.arguments.size(), "one address per argument");
  InstanceRunner runner(program, memory, arguments);
  for (const TileId tile : plan.fill) runner.fill(program.tiles[static_cast<size_t>(tile)]);
  const bool threads = pool.threads() > 1;
  if (plan.mode == ExecutionPlan::Mode::kSerial || !threads) {
    return run_serial(program, plan, runner);
  }
  if (plan.mode == ExecutionPlan::Mode::kGraph) {
    run_graph(program, plan.graph, memory, arguments, pool);
    return {};
  }
  WindowRun run(program, memory, arguments, pool);
  Cursor<WindowRun>(program, run).walk();
  run.flush();
  return {};
}

}  // namespace neuron_sim
