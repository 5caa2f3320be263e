#include "device/builder/order_by_edges.h"

#include <algorithm>
#include <vector>

#include "device/analysis/register_write.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Decides which nodes of a block must keep their order.
class Conflicts {
 public:
  explicit Conflicts(const Program& program) : program_(program) {}

  /// Whether `later` has to stay after `earlier`.
  bool between(const Node& earlier, const Node& later) const {
    if (earlier.kind == Node::Kind::kSynchronisation ||
        later.kind == Node::Kind::kSynchronisation) {
      return true;
    }
    const std::vector<uint32_t> first = instructions(earlier), second = instructions(later);
    return std::any_of(second.begin(), second.end(), [&](uint32_t b) {
      return std::any_of(first.begin(), first.end(), [&](uint32_t a) { return ordered(a, b); });
    });
  }

 private:
  /// Instructions of a node: one, or all of a loop.
  std::vector<uint32_t> instructions(const Node& node) const {
    if (node.kind != Node::Kind::kLoop) return {node.index};
    std::vector<uint32_t> result;
    for (const Node& inner : program_.loops[node.index].body) {
      const std::vector<uint32_t> more = instructions(inner);
      result.insert(result.end(), more.begin(), more.end());
    }
    return result;
  }

  bool uses_registers(uint32_t index) const {
    const Instruction& instruction = program_.instructions[index];
    const auto operands = program_.operands_of(instruction);
    return program_.demands[instruction.demand].steps[0].unit == Unit::kSequencer ||
           std::any_of(operands.begin(), operands.end(),
                       [](const Operand& operand) { return operand.register_index >= 0; });
  }

  bool ordered(uint32_t earlier, uint32_t later) const {
    for (const Edge& edge : edges_of(program_, later)) {
      if (edge.producer == earlier) return true;
    }
    if (uses_registers(earlier) && uses_registers(later)) return true;
    for (const Operand& a : program_.operands_of(program_.instructions[earlier])) {
      for (const Operand& b : program_.operands_of(program_.instructions[later])) {
        if (a.present() && b.present() && (a.writes() || b.writes()) && meet(a, b)) return true;
      }
    }
    return false;
  }

  /// Whether two operands may share bytes.
  bool meet(const Operand& a, const Operand& b) const {
    if (a.memory != b.memory) return false;
    const Tile& first = program_.tiles[static_cast<size_t>(a.tile)];
    const Tile& second = program_.tiles[static_cast<size_t>(b.tile)];
    if (a.memory != MemoryKind::kHbm && first.placed && second.placed) {
      return first.core == second.core;  // by hand: they may overlap
    }
    if (a.tile + a.ring <= b.tile || b.tile + b.ring <= a.tile) return false;
    const auto fixed = [](const Operand& operand) {
      return operand.term_count == 0 && operand.ring == 1;
    };
    return !fixed(a) || !fixed(b) || overlap(a.region, b.region);
  }

  const Program& program_;
};

size_t position_of(const Block& block, uint32_t instruction) {
  const auto found = std::find_if(block.begin(), block.end(), [&](const Node& node) {
    return node.kind != Node::Kind::kLoop && node.index == instruction;
  });
  return static_cast<size_t>(found - block.begin());
}

void refuse(const Program& program, const Edge& edge) {
  const Instruction& consumer = program.instructions[edge.consumer];
  fail(text("scheduling edge of kernel '", program.kernel, "': '", consumer.type->name,
            "' cannot wait for '", program.instructions[edge.producer].type->name,
            "', which needs it.", at_source_line(program, consumer.source_line)));
}

/// Moves the consumer and everything that depends on it after the producer.
void move_behind(const Program& program, const Edge& edge, Block& block) {
  const Conflicts conflicts(program);
  const size_t first = position_of(block, edge.consumer), last = position_of(block, edge.producer);
  if (first > last) return;
  std::vector<Node> moved{block[first]}, kept;
  for (size_t i = first + 1; i <= last; ++i) {
    const bool follows = std::any_of(moved.begin(), moved.end(), [&](const Node& node) {
      return conflicts.between(node, block[i]);
    });
    if (follows && i == last) refuse(program, edge);
    (follows ? moved : kept).push_back(block[i]);
  }
  kept.insert(kept.end(), moved.begin(), moved.end());
  std::copy(kept.begin(), kept.end(), block.begin() + static_cast<std::ptrdiff_t>(first));
}

void order(const Program& program, Block& block) {
  for (const Edge& edge : program.edges) {
    if (edge.producer <= edge.consumer || position_of(block, edge.consumer) == block.size() ||
        position_of(block, edge.producer) == block.size()) {
      continue;
    }
    move_behind(program, edge, block);
  }
}

}  // namespace

void order_by_edges(Program& program) {
  const bool against = std::any_of(program.edges.begin(), program.edges.end(),
                                   [](const Edge& edge) { return edge.producer > edge.consumer; });
  if (!against) return;
  std::sort(program.edges.begin(), program.edges.end(),
            [](const Edge& a, const Edge& b) { return a.consumer < b.consumer; });
  for (Block& block : program.cores) order(program, block);
  for (Loop& loop : program.loops) order(program, loop.body);
}

}  // namespace neuron_sim
