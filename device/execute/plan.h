#pragma once
// What the executor derives once per Program: resolved instances, the graph of their dependencies,
// which tiles to fill because something reads them before it writes them.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/execute/operands_in_place.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Instances of a stretch of the program and the order they need. A node is one instance, or
/// neighbours that run strip by strip (device/execute/strips.h).
struct InstanceGraph {
  std::vector<PlannedInstance> instances;
  std::vector<uint32_t> first_instance;  ///< per node, one more at the end
  std::vector<Location> locations;
  std::vector<Operand> operands;  ///< that replace operands of the instructions
  std::vector<int32_t> replaced;  ///< per location: index into `operands`, or -1; empty: none is
  std::vector<int32_t> waits;     ///< per node: how many earlier ones it waits for
  std::vector<uint32_t> first_successor;  ///< per node, one more at the end
  std::vector<uint32_t> successors;

  size_t nodes() const { return first_instance.empty() ? 0 : first_instance.size() - 1; }
  std::span<const PlannedInstance> node(size_t index) const {
    return {instances.data() + first_instance[index], instances.data() + first_instance[index + 1]};
  }

  /// Operands of an instance that are not those of its instruction.
  ReplacedOperands replaced_of(const PlannedInstance& instance) const {
    if (replaced.empty()) return {};
    ReplacedOperands result{replaced.data() + instance.first_location, operands.data()};
    if (instance.later != PlannedInstance::kNoLocation) {
      result.later = operands.data() + replaced[instance.later];
      result.later_location = locations.data() + instance.later;
    }
    return result;
  }
};

/// How a program is executed. Immutable, cached with the program.
struct ExecutionPlan {
  enum class Mode {
    kSerial,   ///< in program order on the calling thread: little work, or data dependent
    kGraph,    ///< one graph, kept for later launches
    kWindows,  ///< too many instances to keep, or two cores: a graph per window, built while
               ///< walking
  };
  Mode mode = Mode::kSerial;
  InstanceGraph graph;    ///< for kGraph; for kSerial too, unless registers decide which instances
                          ///< run or where; without dependencies where rows do
  bool resolved = false;  ///< `graph.instances` is complete
  /// Tiles and scratch tensors that may be read before they are written.
  std::vector<TileId> fill;
};

/// Derives the plan; `program` must outlive it.
ExecutionPlan make_plan(const Program& program);

/// Adds instances to a graph in program order, with their dependencies.
class GraphBuilder {
 public:
  explicit GraphBuilder(const Program& program);
  ~GraphBuilder();
  /// Appends an instance and the edges from the instances it must wait for.
  void add(uint32_t instruction, const int64_t* variables);
  /// Appends an instance whose locations are known, to the last node if it `joins` that.
  void add(uint32_t instruction, const Location* locations, bool joins);
  size_t size() const;
  /// The graph of everything added; the builder starts over.
  InstanceGraph take();

 private:
  struct State;
  void add_dependencies(uint32_t instruction, size_t first_location, bool joins);
  static void note_edges(State& state, uint32_t instruction, uint32_t id);
  std::unique_ptr<State> state_;
};

}  // namespace neuron_sim
