#pragma once
// Non-delay list scheduling on in-order engines with banks of PSUM as a resource.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "device/compiler/back_end/allocate.h"
#include "device/compiler/back_end/bank_forecast.h"
#include "device/compiler/settings/compiler_costs.h"
#include "device/execute/plan.h"

namespace neuron_sim {

inline constexpr int32_t kNoGroup = -1;

/// One instance to schedule; numbered as in the graph.
struct Task {
  EngineKind engine{};
  bool any_engine = false;  ///< Scalar or Vector: whichever can start first, Scalar when both can
  bool transfer = false;
  bool meeting = false;          ///< with the other core: starts after the meeting before it
  CompilerCost cost{};           ///< on `engine`; with any_engine on Scalar
  CompilerCost vector_cost{};    ///< with any_engine: on Vector
  int64_t rank = 0;              ///< of two that can start together the lower goes first; unique
  int32_t group = kNoGroup;      ///< accumulation group
  int32_t statement = 0;         ///< of the group: one group of a statement is open at a time
  std::vector<int32_t> buffers;  ///< PSUM buffers that it touches
};

/// A scheduling problem: tasks, buffers, groups and latencies.
struct ScheduleProblem {
  std::vector<Task> tasks;
  std::vector<int64_t> buffer_banks;   ///< per PSUM buffer, in program order: banks
  std::vector<Lifetime> buffer_lives;  ///< the tasks between which it is used
  std::vector<int32_t> buffer_tasks;   ///< and tasks that touch it
  std::vector<int32_t> group_tasks;    ///< per group: tasks
  Picoseconds wake_up{};               ///< from a result to any instance that needs it
  Picoseconds same_engine{};           ///< the same when both are on one elementwise engine
  bool plan_banks = false;             ///< give banks away so that they never run out
};

/// Greedy in simulated time: of all tasks whose predecessors are scheduled, the one that can start
/// first, by rank among equals. O(n log n).
class ListScheduler {
 public:
  ListScheduler(const ScheduleProblem& problem, const InstanceGraph& graph, PsumBanks banks);

  /// False when tasks wait for banks that no other task will free; the results are then unusable.
  /// With plan_banks only when the program order has too few banks.
  bool run();

  Picoseconds length() const { return {length_}; }               ///< when the last result is there
  const std::vector<uint32_t>& order() const { return order_; }  ///< by start
  const std::vector<EngineKind>& engines() const { return engines_; }   ///< per task
  const std::vector<int64_t>& addresses() const { return addresses_; }  ///< per PSUM buffer
  const std::vector<int64_t>& starts() const { return starts_; }        ///< per task, picoseconds

 private:
  static constexpr int kLanes = kEngineCount + 1;  // the last one: tasks of any engine
  static constexpr int kAnyLane = kEngineCount;

  struct Entry {
    int64_t key;
    int64_t rank;
    uint32_t task;
    bool operator>(const Entry& other) const {
      return key != other.key ? key > other.key : rank > other.rank;
    }
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  /// Ready tasks of one engine: those that cannot start yet by time, the others by rank.
  struct ReadyQueue {
    Heap later, now;
    bool empty() const { return later.empty() && now.empty(); }
  };
  struct Candidate {
    int64_t start = PsumBanks::kNever;
    int64_t rank = 0;
    uint32_t task = 0;
    bool better_than(const Candidate& other) const {
      return start != other.start ? start < other.start : rank < other.rank;
    }
  };
  struct StatementState {
    int32_t open = kNoGroup;
    std::map<int32_t, std::vector<uint32_t>> blocked;  // by group
  };

  int lane_of(const Task& task) const {
    return task.any_engine ? kAnyLane : static_cast<int>(task.engine);
  }
  int64_t lane_free(int lane) const;
  int32_t missing_buffer(uint32_t task) const;
  bool holds_back(uint32_t task);
  bool may_have_banks(size_t buffer) const;
  bool refuses(uint32_t task);
  void admit_buffers();
  void make_ready(uint32_t task);
  void enqueue(uint32_t task);
  Candidate candidate(ReadyQueue& queue, int64_t floor, int64_t banks);
  Candidate best();
  bool issue(const Candidate& chosen);
  EngineKind choose_engine(const Task& task, int64_t start) const;
  int64_t wait_of(const Task& task, EngineKind engine, uint32_t next) const;
  void take_buffer(int32_t buffer, uint32_t task, int64_t start);
  bool take_buffers(uint32_t task, int64_t start);
  void leave_buffers(const Task& task, int64_t done);
  void advance_meetings(const Task& task, int64_t start);
  void allow(uint32_t task, int64_t time);
  void advance_group(const Task& task);
  bool release_blocked();

  const ScheduleProblem& problem_;
  const InstanceGraph& graph_;
  PsumBanks banks_;
  std::vector<int32_t> waits_;
  std::vector<int64_t> ready_, starts_;
  /// Per task: the elementwise engine on which it starts sooner after a task of the same; else -1.
  std::vector<int8_t> follows_on_;
  std::vector<uint32_t> meetings_;  // in program order
  size_t next_meeting_ = 0;
  std::vector<EngineKind> engines_;
  std::vector<uint32_t> order_;
  std::array<int64_t, kEngineCount> free_{};
  int64_t pipe_free_ = 0;
  std::array<ReadyQueue, kLanes> queues_;
  std::array<std::map<int64_t, ReadyQueue>, kLanes> starters_;  // by banks
  std::vector<int64_t> addresses_, buffer_end_;
  std::vector<int32_t> buffer_left_, group_left_;
  std::vector<std::vector<uint32_t>> buffer_waiting_;
  std::optional<BankForecast> forecast_;  // with plan_banks
  std::set<int32_t> refused_;             // buffers that must wait for their turn
  int64_t length_ = 0;
  size_t next_buffer_ = 0;  // the first one without banks
  size_t window_;  // buffers from it on that may have banks: one per bank, as in program order
  uint32_t issued_ = 0;  // all tasks before this one are issued
  std::vector<StatementState> statements_;
  bool groups_matter_ = true;
};

}  // namespace neuron_sim
