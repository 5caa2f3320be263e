#include "device/compiler/line/instance_graph.h"

#include <algorithm>
#include <map>

#include "device/builder/hazard_groups.h"
#include "device/compiler/line/dependences.h"
#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

/// Edges of the statements: each instance waits for the last one before it of a producer.
std::vector<Edge> statement_edges(const StraightLine& line) {
  std::vector<Edge> edges;
  if (line.edges.empty()) return edges;
  std::map<uint32_t, std::vector<uint32_t>> producers;  // by statement
  for (const Edge& edge : line.edges) producers[edge.consumer].push_back(edge.producer);
  std::map<uint32_t, uint32_t> last;  // instance of a statement
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const uint32_t statement = line.instructions[i].statement;
    const auto known = producers.find(statement);
    if (known != producers.end()) {
      for (const uint32_t producer : known->second) {
        const auto instance = last.find(producer);
        if (instance != last.end()) edges.push_back({i, instance->second});
      }
    }
    last[statement] = i;
  }
  return edges;
}

/// The hazard groups of the program (finish_program.h): tiles whose bytes overlap share one.
class LineGroups {
 public:
  LineGroups(const StraightLine& line, const std::vector<int64_t>& addresses)
      : line_(line), tensors_(line.tiles.size()), of_(line.tiles.size(), -1) {
    for (const StraightInstruction& instance : line.instructions) note(instance);
    for (size_t tile = 0; tile < tensors_.size(); ++tile) {
      if (line.tiles[tile].memory != MemoryKind::kHbm || !tensors_[tile].need_order()) continue;
      of_[tile] = count_++;
    }
    tensors_count_ = count_;
    PlaceGroups places;
    const auto address_of = [&](size_t tile) {
      return addresses[tile] >= 0 ? addresses[tile] : line.tiles[tile].address;
    };
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const Tile& each = line.tiles[tile];
      if (each.memory != MemoryKind::kHbm) places.add(each, address_of(tile));
    }
    count_ = places.number(count_);
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const Tile& each = line.tiles[tile];
      if (each.memory != MemoryKind::kHbm) of_[tile] = places.group_of(each, address_of(tile));
    }
  }

  int32_t of(TileId tile) const { return of_[static_cast<size_t>(tile)]; }
  GroupHistories histories() const {
    std::vector<bool> on_chip(static_cast<size_t>(count_), true);
    std::fill_n(on_chip.begin(), tensors_count_, false);
    return GroupHistories(std::move(on_chip));
  }

 private:
  void note(const StraightInstruction& instance) {
    const bool meets = instance.instruction.type->synchronises == Synchronisation::kBarrier;
    const auto operands = line_.operands_of(instance);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].memory != MemoryKind::kHbm) continue;
      Operand operand = line_.whole(operands[i]);
      operand.direction = direction_in_program(line_, instance, i);
      TensorAccesses& accesses = tensors_[static_cast<size_t>(operand.tile)];
      if (meets) {
        accesses.meets = true;
        continue;
      }
      accesses.is_read = accesses.is_read || operand.reads();
      if (operand.writes() && !accesses.is_rewritten) accesses.add_write(operand, {});
    }
  }

  const StraightLine& line_;
  std::vector<TensorAccesses> tensors_;  ///< per tile
  std::vector<int32_t> of_;              ///< per tile
  int32_t count_ = 0, tensors_count_ = 0;
};

/// Successors by instance, of edges in the order of their consumers.
void list_successors(const std::vector<Edge>& edges, InstanceGraph& graph) {
  graph.first_successor.assign(graph.waits.size() + 1, 0);
  for (const Edge& edge : edges) ++graph.first_successor[edge.producer + 1];
  for (size_t i = 1; i < graph.first_successor.size(); ++i) {
    graph.first_successor[i] += graph.first_successor[i - 1];
  }
  graph.successors.resize(edges.size());
  std::vector<uint32_t> next(graph.first_successor.begin(), graph.first_successor.end() - 1);
  for (const Edge& edge : edges) graph.successors[next[edge.producer]++] = edge.consumer;
}

}  // namespace

Direction direction_in_program(const StraightLine& line, const StraightInstruction& instance,
                               size_t index) {
  const Direction own = line.operands_of(instance)[index].direction;
  const auto attributes = line.attributes_of(instance);
  if (!may_keep_bytes(instance.instruction, attributes)) return own;
  const OperandField& field = instance.instruction.type->operands[index];
  const bool adds = field.read_if_attribute >= 0 &&
                    attributes[static_cast<size_t>(field.read_if_attribute)].flag();
  return adds ? own : field.direction;
}

std::vector<Edge> program_edges(const StraightLine& line, bool alone) {
  std::vector<Edge> edges = statement_edges(line);
  for (const Edge& edge : meeting_edges(line)) {
    // In a program of one core a tensor that only the other one writes needs no history.
    if (alone || !follows_from_operands(line, edge)) edges.push_back(edge);
  }
  return edges;
}

InstanceGraph instance_graph(const StraightLine& line, const std::vector<int64_t>& addresses) {
  const LineGroups groups(line, addresses);
  InstanceWaits waits(groups.histories(), program_edges(line, true));
  InstanceGraph graph;
  graph.waits.reserve(line.instructions.size());
  std::vector<Edge> edges;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const StraightInstruction& instance = line.instructions[i];
    const auto operands = line.operands_of(instance);
    const bool keeps = may_keep_bytes(instance.instruction, line.attributes_of(instance));
    for (size_t o = 0; o < operands.size(); ++o) {
      const StraightOperand& operand = operands[o];
      if (!operand.present() || groups.of(operand.tile) < 0) continue;
      Region region = line.region_of(operand);
      const int64_t address = addresses[static_cast<size_t>(operand.tile)];
      if (address >= 0) region.low += address - line.tile_of(operand).address;
      const Direction direction =
          keeps ? direction_in_program(line, instance, o) : operand.direction;
      waits.access(static_cast<size_t>(groups.of(operand.tile)), region,
                   direction != Direction::kWrite, direction != Direction::kRead);
    }
    const std::vector<uint32_t>& sources = waits.complete();
    graph.waits.push_back(static_cast<int32_t>(sources.size()));
    for (const uint32_t source : sources) edges.push_back({i, source});
  }
  list_successors(edges, graph);
  return graph;
}

}  // namespace neuron_sim
