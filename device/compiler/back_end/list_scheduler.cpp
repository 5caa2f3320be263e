#include "device/compiler/back_end/list_scheduler.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/base/interruption.h"

namespace neuron_sim {

ListScheduler::ListScheduler(const ScheduleProblem& problem, const InstanceGraph& graph,
                             PsumBanks banks)
    : problem_(problem),
      graph_(graph),
      banks_(std::move(banks)),
      waits_(graph.waits),
      ready_(problem.tasks.size()),
      starts_(problem.tasks.size(), -1),
      engines_(problem.tasks.size()),
      addresses_(problem.buffer_banks.size(), -1),
      buffer_end_(problem.buffer_banks.size()),
      buffer_left_(problem.buffer_tasks),
      group_left_(problem.group_tasks),
      buffer_waiting_(problem.buffer_banks.size()),
      window_(static_cast<size_t>(std::max<int64_t>(banks_.free_count(), 1))) {
  int32_t statements = 0;
  for (const Task& task : problem.tasks) statements = std::max(statements, task.statement + 1);
  statements_.resize(static_cast<size_t>(statements));
  follows_on_.reserve(problem.tasks.size());
  for (uint32_t task = 0; task < problem.tasks.size(); ++task) {
    const Task& each = problem.tasks[task];
    const bool follows = !each.transfer && !each.any_engine && each.engine != EngineKind::kTensor;
    follows_on_.push_back(follows ? static_cast<int8_t>(each.engine) : int8_t{-1});
    if (!each.meeting) continue;
    if (!meetings_.empty()) ++waits_[task];
    meetings_.push_back(task);
  }
  if (!problem.plan_banks) return;
  forecast_.emplace(problem.tasks.size(), problem.buffer_lives, problem.buffer_banks,
                    banks_.free_count());
}

int64_t ListScheduler::lane_free(int lane) const {
  const auto free = [&](EngineKind engine) { return free_[static_cast<size_t>(engine)]; };
  if (lane != kAnyLane) return free_[static_cast<size_t>(lane)];
  return std::min(free(EngineKind::kScalar), free(EngineKind::kVector));
}

/// A buffer of the task that has no banks yet; -1 when all have banks.
int32_t ListScheduler::missing_buffer(uint32_t task) const {
  if (addresses_.empty()) return -1;
  for (const int32_t buffer : problem_.tasks[task].buffers) {
    if (addresses_[static_cast<size_t>(buffer)] < 0) return buffer;
  }
  return -1;
}

/// Whether another group of the task's statement is open; the task is then set aside.
bool ListScheduler::holds_back(uint32_t task) {
  const Task& wanted = problem_.tasks[task];
  if (wanted.group == kNoGroup || !groups_matter_) return false;
  StatementState& statement = statements_[static_cast<size_t>(wanted.statement)];
  if (statement.open == kNoGroup || statement.open == wanted.group) return false;
  statement.blocked[wanted.group].push_back(task);
  return true;
}

/// Whether a buffer may get banks now: not far ahead of the first one without, so that early
/// buffers leave banks for the next ones, and not when banks could run out later.
bool ListScheduler::may_have_banks(size_t buffer) const {
  if (buffer >= next_buffer_ + window_) return false;
  return !forecast_ || forecast_->allows(problem_.buffer_banks[buffer],
                                         problem_.buffer_lives[buffer].first, issued_);
}

/// Whether the task has to wait for the turn of its buffer.
bool ListScheduler::refuses(uint32_t task) {
  const int32_t buffer = missing_buffer(task);
  if (may_have_banks(static_cast<size_t>(buffer))) return false;
  refused_.insert(buffer);
  return true;
}

/// Admits buffers whose turn is near enough. The first one is always the next to be admitted: the
/// fewer instances come before it, the fewer can find its banks taken.
void ListScheduler::admit_buffers() {
  while (issued_ < starts_.size() && starts_[issued_] >= 0) ++issued_;
  while (!refused_.empty()) {
    const auto index = static_cast<size_t>(*refused_.begin());
    if (!may_have_banks(index)) return;
    refused_.erase(refused_.begin());
    for (const uint32_t waiting : buffer_waiting_[index]) enqueue(waiting);
  }
}

void ListScheduler::make_ready(uint32_t task) {
  const int32_t buffer = missing_buffer(task);
  if (buffer >= 0) buffer_waiting_[static_cast<size_t>(buffer)].push_back(task);
  enqueue(task);
}

void ListScheduler::enqueue(uint32_t task) {
  const Task& wanted = problem_.tasks[task];
  const auto lane = static_cast<size_t>(lane_of(wanted));
  const int32_t buffer = missing_buffer(task);
  ReadyQueue& queue = buffer < 0
                          ? queues_[lane]
                          : starters_[lane][problem_.buffer_banks[static_cast<size_t>(buffer)]];
  queue.later.push({ready_[task], wanted.rank, task});
}

/// The next task of a queue whose tasks cannot start before `floor`. `banks`: how many they wait
/// for; entries that have since got theirs are dropped.
ListScheduler::Candidate ListScheduler::candidate(ReadyQueue& queue, int64_t floor, int64_t banks) {
  const auto drops = [&](uint32_t task) {
    const bool moved = banks > 0 && missing_buffer(task) < 0;
    return moved || starts_[task] >= 0 || holds_back(task) || (banks > 0 && refuses(task));
  };
  while (true) {
    while (!queue.later.empty() && queue.later.top().key <= floor) {
      const Entry entry = queue.later.top();
      queue.later.pop();
      queue.now.push({entry.rank, entry.rank, entry.task});
    }
    const bool now = !queue.now.empty();
    if (!now && queue.later.empty()) return {};
    Heap& heap = now ? queue.now : queue.later;
    const Entry top = heap.top();
    if (drops(top.task)) {
      heap.pop();
      continue;
    }
    if (now && ready_[top.task] > floor) {  // banks became free earlier than was known
      heap.pop();
      queue.later.push({ready_[top.task], top.rank, top.task});
      continue;
    }
    return {std::max(floor, ready_[top.task]), top.rank, top.task};
  }
}

ListScheduler::Candidate ListScheduler::best() {
  Candidate result;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t free = lane_free(lane);
    ReadyQueue& queue = queues_[static_cast<size_t>(lane)];
    if (free <= result.start && !queue.empty()) {
      const Candidate plain = candidate(queue, free, 0);
      if (plain.better_than(result)) result = plain;
    }
    for (auto& [banks, queue] : starters_[static_cast<size_t>(lane)]) {
      const int64_t bank_free = banks_.earliest(banks);
      if (bank_free == PsumBanks::kNever) continue;
      const Candidate starter = candidate(queue, std::max(free, bank_free), banks);
      if (starter.better_than(result)) result = starter;
    }
  }
  return result;
}

EngineKind ListScheduler::choose_engine(const Task& task, int64_t start) const {
  if (!task.any_engine) return task.engine;
  return lane_free(static_cast<int>(EngineKind::kScalar)) <= start ? EngineKind::kScalar
                                                                   : EngineKind::kVector;
}

void ListScheduler::take_buffer(int32_t buffer, uint32_t task, int64_t start) {
  const auto index = static_cast<size_t>(buffer);
  addresses_[index] = banks_.take(problem_.buffer_banks[index], start);
  for (const uint32_t waiting : buffer_waiting_[index]) {
    if (waiting != task) enqueue(waiting);
  }
  refused_.erase(buffer);
  while (next_buffer_ < addresses_.size() && addresses_[next_buffer_] >= 0) ++next_buffer_;
  if (forecast_) {
    forecast_->give(problem_.buffer_banks[index], problem_.buffer_lives[index].first, issued_);
  }
}

/// Banks for all buffers that the task is the first to touch; false when only some are free.
bool ListScheduler::take_buffers(uint32_t task, int64_t start) {
  for (int32_t buffer = missing_buffer(task); buffer >= 0; buffer = missing_buffer(task)) {
    if (banks_.earliest(problem_.buffer_banks[static_cast<size_t>(buffer)]) > start) return false;
    take_buffer(buffer, task, start);
  }
  return true;
}

void ListScheduler::leave_buffers(const Task& task, int64_t done) {
  for (const int32_t buffer : task.buffers) {
    const auto index = static_cast<size_t>(buffer);
    buffer_end_[index] = std::max(buffer_end_[index], done + problem_.wake_up.count);
    if (--buffer_left_[index] > 0) continue;
    banks_.release(addresses_[index], problem_.buffer_banks[index], buffer_end_[index]);
  }
}

/// One of the things that a task waits for is there at `time`.
void ListScheduler::allow(uint32_t task, int64_t time) {
  ready_[task] = std::max(ready_[task], time);
  if (--waits_[task] == 0) make_ready(task);
}

/// The cores meet in program order, though one meeting need not end before the next one starts.
void ListScheduler::advance_meetings(const Task& task, int64_t start) {
  if (!task.meeting || ++next_meeting_ == meetings_.size()) return;
  allow(meetings_[next_meeting_], start);
}

/// Opens the group of an issued task, or closes it and admits the next one of its statement.
void ListScheduler::advance_group(const Task& task) {
  if (task.group == kNoGroup || !groups_matter_) return;
  StatementState& statement = statements_[static_cast<size_t>(task.statement)];
  statement.open = task.group;
  if (--group_left_[static_cast<size_t>(task.group)] > 0) return;
  statement.open = kNoGroup;
  if (statement.blocked.empty()) return;
  const auto first = statement.blocked.begin();
  const std::vector<uint32_t> tasks = std::move(first->second);
  statement.blocked.erase(first);
  for (const uint32_t blocked : tasks) enqueue(blocked);
}

/// Stops keeping groups together when nothing else can proceed. False when that frees nothing.
bool ListScheduler::release_blocked() {
  groups_matter_ = false;
  bool released = false;
  for (StatementState& statement : statements_) {
    for (const auto& [group, tasks] : statement.blocked) {
      for (const uint32_t task : tasks) enqueue(task);
      released = true;
    }
    statement.blocked.clear();
  }
  return released;
}

/// From the end of a task on `engine` to the start of one that needs its result.
int64_t ListScheduler::wait_of(const Task& task, EngineKind engine, uint32_t next) const {
  const bool same = !task.transfer && follows_on_[next] == static_cast<int8_t>(engine);
  return same ? problem_.same_engine.count : problem_.wake_up.count;
}

bool ListScheduler::issue(const Candidate& chosen) {
  const Task& task = problem_.tasks[chosen.task];
  const EngineKind engine = choose_engine(task, chosen.start);
  const int lane = lane_of(task);
  const int32_t buffer = missing_buffer(chosen.task);
  ReadyQueue& queue = buffer < 0 ? queues_[static_cast<size_t>(lane)]
                                 : starters_[static_cast<size_t>(lane)]
                                            [problem_.buffer_banks[static_cast<size_t>(buffer)]];
  (queue.now.empty() ? queue.later : queue.now).pop();
  if (!take_buffers(chosen.task, chosen.start)) return false;
  const CompilerCost& cost =
      task.any_engine && engine == EngineKind::kVector ? task.vector_cost : task.cost;
  int64_t done = chosen.start + cost.issue.count;
  free_[static_cast<size_t>(engine)] = done;
  if (task.transfer) {
    pipe_free_ = std::max(pipe_free_, done) + cost.transfer.count;
    done = pipe_free_ + cost.latency.count;
  }
  engines_[chosen.task] = engine;
  starts_[chosen.task] = chosen.start;
  order_.push_back(chosen.task);
  length_ = std::max(length_, done);
  leave_buffers(task, done);
  advance_group(task);
  for (uint32_t i = graph_.first_successor[chosen.task];
       i < graph_.first_successor[chosen.task + 1]; ++i) {
    const uint32_t next = graph_.successors[i];
    allow(next, done + wait_of(task, engine, next));
  }
  advance_meetings(task, chosen.start);
  return true;
}

bool ListScheduler::run() {
  if (forecast_ && !forecast_->is_possible()) return false;
  for (uint32_t task = 0; task < waits_.size(); ++task) {
    if (waits_[task] == 0) make_ready(task);
  }
  while (order_.size() < problem_.tasks.size()) {
    poll_interruption();
    const Candidate chosen = best();
    if (chosen.start == PsumBanks::kNever) {
      if (!groups_matter_ || !release_blocked()) return false;
      continue;
    }
    if (!issue(chosen)) return false;
    admit_buffers();
  }
  return true;
}

}  // namespace neuron_sim
