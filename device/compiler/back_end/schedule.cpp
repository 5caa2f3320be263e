#include "device/compiler/back_end/schedule.h"

#include <algorithm>
#include <utility>

#include "device/base/errors.h"
#include "device/compiler/back_end/list_scheduler.h"
#include "device/compiler/back_end/schedule_ranks.h"
#include "device/compiler/line/instance_checks.h"
#include "device/compiler/line/instance_graph.h"
#include "device/compiler/line/meetings.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

bool is_rotated(const Tile& tile) { return tile.memory == MemoryKind::kPsum && !tile.placed; }

/// PSUM tiles that get banks while scheduling, in the order of their first instances.
std::vector<size_t> rotated_tiles(const StraightLine& line, const PassSettings& settings) {
  if (settings["rename_buffers"] == 0 ||
      std::none_of(line.tiles.begin(), line.tiles.end(), is_rotated)) {
    return {};
  }
  const std::vector<Lifetime> lives = lifetimes(line);
  std::vector<size_t> tiles;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    if (is_rotated(line.tiles[i]) && lives[i].used()) tiles.push_back(i);
  }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  return tiles;
}

/// Dependencies of the instances, with every rotated tile at separate bytes.
InstanceGraph dependencies(const StraightLine& line, const std::vector<size_t>& rotated) {
  std::vector<int64_t> apart(line.tiles.size(), -1);
  int64_t next = line.architecture->limits.psum_bank.count * line.architecture->limits.psum_banks;
  for (const size_t tile : rotated) {
    apart[tile] = next;
    next += line.tiles[tile].bytes;
  }
  return instance_graph(line, apart);
}

/// A copy to SBUF that Scalar could make too, with the same bytes: `choose_copy_engines` gives it
/// to the engine that is free first.
bool is_free_copy(StraightLine& line, const StraightInstruction& instance, InstanceChecks& checks) {
  const Instruction& instruction = instance.instruction;
  if (instruction.type != &kTensorCopy || instruction.engine_given) return false;
  const auto operands = line.operands_of(instance);
  if (operands[1].memory == MemoryKind::kHbm || operands[0].memory != MemoryKind::kSbuf) {
    return false;
  }
  // Through fp32, as generation 2 copies on Scalar, floats keep their values and a cast is the same
  // cast. The compiler gives Scalar such copies of float16, though a signalling NaN becomes quiet
  // there (compiled programs of three convolutions, assign_queues.h).
  const bool same_bytes =
      line.architecture->features.scalar_tensor_ops ||
      line.pattern_of(operands[0]).dtype != line.pattern_of(operands[1]).dtype ||
      is_float(line.pattern_of(operands[0]).dtype);
  if (!same_bytes) return false;
  StraightInstruction other = instance;
  other.instruction.engine = EngineKind::kScalar;
  return checks.renew_demand(line, other);
}

class ProblemBuilder {
 public:
  ProblemBuilder(StraightLine& line, const PassSettings& settings, const CompilerCosts& costs,
                 const std::vector<size_t>& rotated, InstanceChecks& checks)
      : line_(line),
        checks_(checks),
        settings_(settings),
        choose_engines_(settings["choose_copy_engines"] != 0),
        costs_(costs),
        buffer_of_(line.tiles.size(), -1) {
    problem_.wake_up = from_nanoseconds(costs.wake_up_ns);
    problem_.same_engine = from_nanoseconds(costs.same_engine_ns);
    problem_.tasks.reserve(line.instructions.size());
    if (rotated.empty()) return;
    const PsumBanks banks(line);
    const std::vector<Lifetime> lives = lifetimes(line);
    for (const size_t tile : rotated) {
      buffer_of_[tile] = static_cast<int32_t>(problem_.buffer_banks.size());
      problem_.buffer_banks.push_back(banks.needed(line.tiles[tile]));
      problem_.buffer_lives.push_back(lives[tile]);
    }
    problem_.buffer_tasks.resize(rotated.size());
  }

  ScheduleProblem build(const InstanceGraph& graph) {
    for (const StraightInstruction& instance : line_.instructions) add(instance);
    const Ranks ranks = rank_instances(line_, graph, settings_);
    problem_.group_tasks = ranks.group_sizes;
    for (size_t i = 0; i < problem_.tasks.size(); ++i) {
      problem_.tasks[i].rank = ranks.rank[i];
      problem_.tasks[i].group = ranks.group[i];
      problem_.tasks[i].statement = static_cast<int32_t>(line_.instructions[i].statement);
    }
    return std::move(problem_);
  }

 private:
  void add(const StraightInstruction& instance) {
    const Instruction& instruction = instance.instruction;
    Task task;
    task.engine = instruction.engine;
    task.transfer = is_transfer(line_, instance);
    task.meeting = is_meeting(instance);
    task.any_engine = choose_engines_ && is_free_copy(line_, instance, checks_);
    if (task.any_engine && belongs_to_scalar(instance)) {
      task.any_engine = false;
      task.engine = EngineKind::kScalar;
    }
    // is_free_copy() adds demands to the line, which moves those that are there.
    const Demand& demand = line_.demands[instruction.demand];
    // Documented for generation 2 (stride > 16 bytes), so that its compiler knows it.
    const double stride = line_.architecture->vector.stride_factor;
    task.cost =
        compiler_cost(costs_, demand, task.any_engine ? EngineKind::kScalar : task.engine, stride);
    if (task.any_engine) {
      task.vector_cost = compiler_cost(costs_, demand, EngineKind::kVector, stride);
    }
    if (!problem_.buffer_banks.empty()) add_buffers(instance, task);
    problem_.tasks.push_back(std::move(task));
  }

  /// The buffers that the instance touches.
  void add_buffers(const StraightInstruction& instance, Task& task) {
    for (const StraightOperand& operand : line_.operands_of(instance)) {
      if (!operand.present()) continue;
      const int32_t buffer = buffer_of_[static_cast<size_t>(operand.tile)];
      const bool known = std::count(task.buffers.begin(), task.buffers.end(), buffer) > 0;
      if (buffer < 0 || known) continue;
      task.buffers.push_back(buffer);
      ++problem_.buffer_tasks[static_cast<size_t>(buffer)];
    }
  }

  /// Whether a free copy is not free after all.
  bool belongs_to_scalar(const StraightInstruction& instance) const {
    return settings_["copy_psum_on_scalar"] != 0 &&
           line_.operands_of(instance)[1].memory == MemoryKind::kPsum;
  }

  StraightLine& line_;
  InstanceChecks& checks_;
  const PassSettings& settings_;
  const bool choose_engines_;
  const CompilerCosts& costs_;
  std::vector<int32_t> buffer_of_;  // by tile
  ScheduleProblem problem_;
};

/// Order, engines and banks as scheduled.
void apply(StraightLine& line, const ListScheduler& scheduler, const std::vector<size_t>& rotated,
           InstanceChecks& checks) {
  std::vector<int64_t> addresses(line.tiles.size(), -1);
  for (size_t i = 0; i < rotated.size(); ++i) addresses[rotated[i]] = scheduler.addresses()[i];
  move_tiles(line, addresses);
  std::vector<StraightInstruction> ordered;
  ordered.reserve(line.instructions.size());
  for (const uint32_t task : scheduler.order()) {
    ordered.push_back(line.instructions[task]);
    StraightInstruction& instance = ordered.back();
    if (instance.instruction.engine == scheduler.engines()[task]) continue;
    instance.instruction.engine = scheduler.engines()[task];
    require(checks.renew_demand(line, instance), "a free copy runs on the engine that it got");
  }
  line.instructions = std::move(ordered);
}

}  // namespace

std::optional<Picoseconds> schedule(StraightLine& line, const PassSettings& settings,
                                    const CompilerCosts& costs) {
  const std::vector<size_t> rotated = rotated_tiles(line, settings);
  const InstanceGraph graph = dependencies(line, rotated);
  InstanceChecks checks;
  ScheduleProblem problem = ProblemBuilder(line, settings, costs, rotated, checks).build(graph);
  ListScheduler greedy(problem, graph, PsumBanks(line));
  if (greedy.run()) {
    apply(line, greedy, rotated, checks);
    return greedy.length();
  }
  problem.plan_banks = true;
  ListScheduler planned(problem, graph, PsumBanks(line));
  if (!planned.run()) return std::nullopt;
  apply(line, planned, rotated, checks);
  return planned.length();
}

}  // namespace neuron_sim
