#include "device/execute/executor.h"

#include <atomic>
#include <memory>
#include <optional>
#include <queue>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/execute/run_instance.h"
#include "device/execute/serial_run.h"
#include "device/memory/scratch_memory.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

// Instances per graph of a program too long to keep.
constexpr size_t kWindow = 8192;

/// Runs one graph on all threads of a pool. Ready nodes are taken in program order.
class GraphRun {
 public:
  explicit GraphRun(const InstanceGraph& graph)
      : graph_(graph), waits_(std::make_unique<std::atomic<int32_t>[]>(graph.nodes())) {
    for (size_t i = 0; i < graph.nodes(); ++i) {
      waits_[i].store(graph.waits[i], std::memory_order_relaxed);
      if (graph.waits[i] == 0) ready_.push(static_cast<uint32_t>(i));
    }
    left_ = graph.nodes();
  }

  /// One thread's share. Only the caller's, `worker` 0, can be interrupted; the others then stop.
  void work(int worker, InstanceRunner& runner) {
    // Whatever fails here, memory for `released` too, would leave the others waiting.
    try {
      std::vector<uint32_t> released;
      uint32_t id = 0;
      while (take(worker, released, id)) {
        if (worker == 0) poll_interruption();
        runner.run(graph_, id);
        released.clear();
        for (uint32_t s = graph_.first_successor[id]; s < graph_.first_successor[id + 1]; ++s) {
          const uint32_t next = graph_.successors[s];
          if (waits_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) released.push_back(next);
        }
      }
    } catch (...) {
      stop();
      throw;
    }
  }

 private:
  /// Hands in the nodes that the last one released, takes the first ready one. False at the end.
  bool take(int worker, const std::vector<uint32_t>& released, uint32_t& id) {
    std::unique_lock lock(mutex_);
    for (const uint32_t next : released) ready_.push(next);
    const auto is_over = [&] { return failed_ || left_ == 0 || !ready_.empty(); };
    if (worker == 0) {
      interruptible_wait(available_, lock, is_over);
    } else {
      available_.wait(lock, is_over);
    }
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

  void stop() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    available_.notify_all();
  }

  const InstanceGraph& graph_;
  std::unique_ptr<std::atomic<int32_t>[]> waits_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready_;
  std::mutex mutex_;
  std::condition_variable available_;
  size_t left_ = 0;  // not yet taken
  bool failed_ = false;
};

/// The memory that a launch runs on.
struct Storage {
  std::span<CoreMemory* const> memories;
  std::span<std::byte* const> arguments;
};

void run_graph(const Program& program, const InstanceGraph& graph, const Storage& storage,
               ThreadPool& pool) {
  GraphRun run(graph);
  pool.run([&](int worker) {
    InstanceRunner runner(program, storage.memories, storage.arguments);
    run.work(worker, runner);
  });
}

/// Builds and runs a graph per window of instances; a window ends where cores meet.
class WindowRun : public EveryIteration {
 public:
  WindowRun(const Program& program, const Storage& storage, InstanceRunner& runner,
            ThreadPool& pool)
      : program_(program), storage_(storage), runner_(runner), pool_(pool), builder_(program) {}

  void instruction(uint32_t index, const int64_t* variables) {
    builder_.add(index, variables);
    if (builder_.size() == kWindow) flush();
  }
  void meet(const Meeting& meeting) {
    flush();
    meet_in_memory(program_, meeting, runner_);
  }
  void flush() {
    if (builder_.size() > 0) run_graph(program_, builder_.take(), storage_, pool_);
  }

 private:
  const Program& program_;
  const Storage& storage_;
  InstanceRunner& runner_;
  ThreadPool& pool_;
  GraphBuilder builder_;
};

ControlLog run_serial(const Program& program, const ExecutionPlan& plan, InstanceRunner& runner,
                      RunObserver* observer) {
  if (plan.resolved && observer == nullptr) {
    ControlLog log;
    for (size_t node = 0; node < plan.graph.nodes(); ++node) {
      poll_interruption();
      runner.run(plan.graph, node);
      if (runner.moved_rows() >= 0) log.values.push_back(runner.moved_rows());
    }
    return log;
  }
  SerialRun run(program, runner, maximum_iterations(), observer);
  Cursor<SerialRun>(program, run).walk();
  return std::move(run.log);
}

/// The scratch tensors of one run, after the arguments.
class ScratchTensors {
 public:
  ScratchTensors(const Program& program, std::span<std::byte* const> arguments)
      : addresses_(arguments), memory_(bytes_of(program)) {
    if (program.scratch.empty()) return;
    all_.assign(arguments.begin(), arguments.end());
    std::byte* next = memory_.data();
    for (const TileId id : program.scratch) {
      all_.push_back(next);
      next += room_of(program, id);
    }
    addresses_ = all_;
  }
  std::span<std::byte* const> addresses() const { return addresses_; }

 private:
  /// Whole cache lines.
  static int64_t room_of(const Program& program, TileId id) {
    constexpr int64_t kLine = 64;
    return (program.tiles[static_cast<size_t>(id)].bytes + kLine - 1) / kLine * kLine;
  }
  static int64_t bytes_of(const Program& program) {
    int64_t bytes = 0;
    for (const TileId id : program.scratch) bytes += room_of(program, id);
    return bytes;
  }

  std::span<std::byte* const> addresses_;
  std::vector<std::byte*> all_;
  ScratchMemory memory_;
};

}  // namespace

ProgramMemories::ProgramMemories(const Program& program) {
  for (size_t core = 0; core < program.cores.size(); ++core) {
    memories_.push_back(
        std::make_unique<CoreMemory>(*program.architecture, program.sbuf_peak, program.psum_peak));
    pointers_.push_back(memories_.back().get());
  }
}

ControlLog execute(const Program& program, const ExecutionPlan& plan,
                   std::span<CoreMemory* const> memories, std::span<std::byte* const> arguments,
                   ThreadPool& pool, const RankMember* member, RunObserver* observer) {
  require(arguments.size() == program.arguments.size(), "one address per argument");
  const ScratchTensors scratch(program, arguments);
  const Storage storage{memories, scratch.addresses()};
  InstanceRunner runner(program, memories, scratch.addresses());
  std::optional<RankRendezvous> alone;
  if (member != nullptr) {
    runner.join(*member);
  } else if (program.has_collectives) {
    runner.join({&alone.emplace(1), 0});
  }
  runner.observe(observer);
  for (const TileId tile : plan.fill) runner.fill(program.tiles[static_cast<size_t>(tile)]);
  const bool serial = plan.mode == ExecutionPlan::Mode::kSerial || program.has_collectives;
  if (serial || member != nullptr || pool.threads() == 1 || observer != nullptr) {
    return run_serial(program, plan, runner, observer);
  }
  if (plan.mode == ExecutionPlan::Mode::kGraph) {
    run_graph(program, plan.graph, storage, pool);
    return {};
  }
  WindowRun run(program, storage, runner, pool);
  Cursor<WindowRun>(program, run).walk();
  run.flush();
  return {};
}

ControlLog execute(const Program& program, const ExecutionPlan& plan, CoreMemory& memory,
                   std::span<std::byte* const> arguments, ThreadPool& pool) {
  CoreMemory* const memories[] = {&memory};
  return execute(program, plan, memories, arguments, pool);
}

}  // namespace neuron_sim
