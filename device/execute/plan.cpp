#include "device/execute/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "device/analysis/access_runs.h"
#include "device/analysis/definedness.h"
#include "device/analysis/instance_history.h"
#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/execute/loads_in_place.h"
#include "device/execute/read_ahead.h"
#include "device/execute/stores_in_place.h"
#include "device/execute/strips.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

// Instances kept per program; beyond, the walk is repeated at every launch.
constexpr double kMaximumKept = 65536;
// Instances kept of a program that runs on one thread, which a walk costs little.
constexpr double kMaximumKeptSerial = 8192;
// Host nanoseconds below which handing work to other threads costs more than it brings.
constexpr double kSerialNanoseconds = 150e3;
constexpr double kSerialPerInstance = 1500;

/// Rough host cost of one instance, only to choose a mode.
double host_nanoseconds(const Program& program, const Instruction& instruction) {
  double bytes = 0;
  double rows = 0;
  for (const Operand& operand : program.operands_of(instruction)) {
    rows += operand.partitions;
    bytes += static_cast<double>(elements_of(operand) * itemsize(operand.dtype));
  }
  double cost = 60 + rows * 2 + bytes / 8;
  const Demand& demand = program.demands[instruction.demand];
  if (demand.steps[0].unit == Unit::kBarrier) return 60;  // moves nothing
  return cost + static_cast<double>(demand.multiply_accumulates) / 100;
}

struct Work {
  double instances = 0;
  double nanoseconds = 0;
};

Work work_of(const Program& program, const Block& block) {
  Work total;
  for (const Node& node : block) {
    if (node.kind != Node::Kind::kLoop) {
      total.instances += 1;
      total.nanoseconds += host_nanoseconds(program, program.instructions[node.index]);
    } else {
      const Loop& loop = program.loops[node.index];
      const Work body = work_of(program, loop.body);
      total.instances += body.instances * static_cast<double>(loop.bound);
      total.nanoseconds += body.nanoseconds * static_cast<double>(loop.bound);
    }
  }
  return total;
}

/// Whether data decides which instances run, or where they access more than indirect rows.
bool is_walked_with_registers(const Program& program) {
  return std::any_of(program.loops.begin(), program.loops.end(),
                     [](const Loop& loop) {
                       return loop.kind != LoopKind::kCounted || loop.register_index >= 0;
                     }) ||
         std::any_of(program.operands.begin(), program.operands.end(),
                     [](const Operand& operand) { return operand.register_index >= 0; });
}

/// Appends an instance with the locations of its operands.
void append(const Program& program, uint32_t index, const int64_t* variables,
            InstanceGraph& graph) {
  graph.instances.push_back({index, static_cast<uint32_t>(graph.locations.size())});
  for (const Operand& operand : program.operands_of(program.instructions[index])) {
    graph.locations.push_back(operand.present() ? locate(program, operand, variables, nullptr)
                                                : Location{});
  }
}

/// Visitor of every instance of a program of one core that is not walked with registers.
template <typename Add>
struct Collect : EveryIteration {
  Add add;
  void instruction(uint32_t index, const int64_t* variables) { add(index, variables); }
  void meet(const Meeting&) { require(false, "programs of two cores are walked at every launch"); }
};

template <typename Add>
void for_each_instance(const Program& program, Add add) {
  Collect<Add> collect{{}, std::move(add)};
  Cursor<Collect<Add>>(program, collect).walk();
}

/// The instances in program order, without their dependencies.
InstanceGraph in_program_order(const Program& program) {
  InstanceGraph graph;
  for_each_instance(program, [&](uint32_t index, const int64_t* variables) {
    poll_interruption();
    append(program, index, variables, graph);
  });
  return graph;
}

}  // namespace

struct GraphBuilder::State {
  const Program& program;
  GroupHistories histories;
  InstanceGraph graph;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<uint32_t> sources;
  std::map<uint32_t, uint32_t> last;  // of producers of edges: their last instance
};

namespace {

constexpr uint32_t kNoInstance = UINT32_MAX;

}  // namespace

void GraphBuilder::note_edges(State& state, uint32_t index, uint32_t id) {
  for (const Edge& edge : edges_of(state.program, index)) {
    const uint32_t producer = state.last.at(edge.producer);
    if (producer != kNoInstance) state.sources.push_back(producer);
  }
  const auto own = state.last.find(index);
  if (own != state.last.end()) own->second = id;
}

GraphBuilder::GraphBuilder(const Program& program)
    : state_(new State{program, histories_of(program), {}, {}, {}, {}}) {
  for (const Edge& edge : program.edges) state_->last[edge.producer] = kNoInstance;
}
GraphBuilder::~GraphBuilder() = default;

size_t GraphBuilder::size() const { return state_->graph.instances.size(); }

void GraphBuilder::add(uint32_t index, const int64_t* variables) {
  poll_interruption();
  State& state = *state_;
  const size_t first = state.graph.locations.size();
  append(state.program, index, variables, state.graph);
  add_dependencies(index, first, false);
}

void GraphBuilder::add(uint32_t index, const Location* locations, bool joins) {
  poll_interruption();
  InstanceGraph& graph = state_->graph;
  const size_t first = graph.locations.size();
  graph.instances.push_back({index, static_cast<uint32_t>(first)});
  const int count = state_->program.instructions[index].operand_count;
  graph.locations.insert(graph.locations.end(), locations, locations + count);
  add_dependencies(index, first, joins);
}

void GraphBuilder::add_dependencies(uint32_t index, size_t first, bool joins) {
  State& state = *state_;
  InstanceGraph& graph = state.graph;
  const Program& program = state.program;
  const auto operands = program.operands_of(program.instructions[index]);
  if (!joins) {
    graph.first_instance.push_back(static_cast<uint32_t>(graph.instances.size()) - 1);
    graph.waits.push_back(0);
  }
  const auto id = static_cast<uint32_t>(graph.waits.size()) - 1;
  state.sources.clear();
  const auto group_of = [&](const Location& location) {
    return program.tiles[static_cast<size_t>(location.tile)].hazard_group;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    const Location& location = graph.locations[first + i];
    const int32_t group = group_of(location);
    if (group < 0) continue;
    state.histories.collect(static_cast<size_t>(group), region_at(operands[i], location),
                            operands[i].reads(), operands[i].writes(), state.sources);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present()) continue;
    const Location& location = graph.locations[first + i];
    const int32_t group = group_of(location);
    if (group < 0) continue;
    state.histories.record(static_cast<size_t>(group), region_at(operands[i], location),
                           operands[i].writes(), id);
  }
  if (!state.last.empty()) note_edges(state, index, id);
  std::sort(state.sources.begin(), state.sources.end());
  state.sources.erase(std::unique(state.sources.begin(), state.sources.end()), state.sources.end());
  std::erase(state.sources, id);
  graph.waits.back() += static_cast<int32_t>(state.sources.size());
  for (const uint32_t source : state.sources) state.edges.emplace_back(source, id);
}

InstanceGraph GraphBuilder::take() {
  State& state = *state_;
  InstanceGraph graph = std::move(state.graph);
  state.graph = {};
  graph.first_instance.push_back(static_cast<uint32_t>(graph.instances.size()));
  graph.first_successor.assign(graph.waits.size() + 1, 0);
  for (const auto& [source, target] : state.edges) ++graph.first_successor[source + 1];
  for (size_t i = 1; i < graph.first_successor.size(); ++i) {
    graph.first_successor[i] += graph.first_successor[i - 1];
  }
  graph.successors.resize(state.edges.size());
  std::vector<uint32_t> next(graph.first_successor.begin(), graph.first_successor.end() - 1);
  for (const auto& [source, target] : state.edges) graph.successors[next[source]++] = target;
  state.edges.clear();
  state.histories.clear();
  for (auto& [instruction, instance] : state.last) instance = kNoInstance;
  return graph;
}

namespace {

/// Drops the instances that others make needless, and the operands that these then read.
void omit(const OperandsInPlace& in_place, const Program& program, InstanceGraph& graph) {
  InstanceGraph kept;
  kept.locations.reserve(graph.locations.size());
  kept.replaced.reserve(graph.locations.size());
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    if (in_place.omitted[i]) continue;
    const auto [index, first, later] = graph.instances[i];
    const uint32_t end = first + program.instructions[index].operand_count;
    kept.instances.push_back({index, static_cast<uint32_t>(kept.locations.size()), later});
    for (uint32_t at = first; at < end; ++at) {
      kept.locations.push_back(graph.locations[at]);
      kept.replaced.push_back(in_place.replaced[at]);
    }
  }
  graph = std::move(kept);
}

/// All instances that need to run, without their dependencies.
InstanceGraph needed_instances(const Program& program) {
  InstanceGraph graph = in_program_order(program);
  OperandsInPlace in_place;
  find_loads_in_place(program, graph.instances, graph.locations, in_place);
  find_stores_in_place(program, graph.instances, graph.locations, in_place);
  if (!in_place.omitted.empty()) {
    omit(in_place, program, graph);
    graph.operands = std::move(in_place.operands);
    read_ahead(program, graph);
  }
  graph.first_instance = find_nodes(program, graph);
  return graph;
}

/// The needed instances with their dependencies.
InstanceGraph graph_of(const Program& program) {
  InstanceGraph needed = needed_instances(program);
  GraphBuilder builder(program);
  for (size_t node = 0; node < needed.nodes(); ++node) {
    bool joins = false;
    for (const PlannedInstance& instance : needed.node(node)) {
      builder.add(instance.instruction, needed.locations.data() + instance.first_location, joins);
      joins = true;
    }
  }
  InstanceGraph graph = builder.take();
  graph.instances = std::move(needed.instances);
  graph.operands = std::move(needed.operands);
  graph.replaced = std::move(needed.replaced);
  return graph;
}

}  // namespace

ExecutionPlan make_plan(const Program& program) {
  ExecutionPlan plan;
  plan.fill = possibly_undefined_tiles(program);
  if (is_walked_with_registers(program)) return plan;
  Work work;
  for (const Block& block : program.cores) {
    const Work core = work_of(program, block);
    work.instances += core.instances;
    work.nanoseconds += core.nanoseconds;
  }
  const bool small = program.uses_registers || program.has_collectives ||
                     work.nanoseconds < kSerialNanoseconds ||
                     work.nanoseconds < kSerialPerInstance * work.instances;
  // The cores of a program take turns between their meetings: a graph reaches to the next one.
  const bool kept =
      program.cores.size() == 1 && work.instances <= (small ? kMaximumKeptSerial : kMaximumKept);
  plan.mode = small  ? ExecutionPlan::Mode::kSerial
              : kept ? ExecutionPlan::Mode::kGraph
                     : ExecutionPlan::Mode::kWindows;
  if (kept) {
    plan.graph = program.uses_registers ? needed_instances(program) : graph_of(program);
    plan.resolved = true;
  }
  return plan;
}

}  // namespace neuron_sim
