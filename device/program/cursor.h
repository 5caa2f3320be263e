#pragma once
// The one walk over a Program: yields instruction instances in program order; nothing is unrolled
// in memory. Executor, timeline and definedness are visitors.

#include <array>
#include <cstdint>

#include "device/program/program.h"

namespace neuron_sim {

/// Walks all cores of a program, core 0 first. `Visitor` has
///   void instruction(uint32_t index, const int64_t* variables);
///   int64_t trip_count(const Loop& loop);
///   int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips);
/// `boundary` is called before each iteration and returns how many iterations to skip (0: none).
template <typename Visitor>
class Cursor {
 public:
  Cursor(const Program& program, Visitor& visitor) : program_(program), visitor_(visitor) {}

  void walk() {
    for (const Block& block : program_.cores) walk(block);
  }

 private:
  void walk(const Block& block) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kInstruction) {
        visitor_.instruction(node.index, variables_.data());
      } else {
        walk_loop(program_.loops[node.index], node.index);
      }
    }
  }

  void walk_loop(const Loop& loop, uint32_t index) {
    const int64_t trips = visitor_.trip_count(loop);
    int64_t& variable = variables_[static_cast<size_t>(loop.level)];
    for (int64_t i = 0; i < trips; ++i) {
      i += visitor_.boundary(loop, index, i, trips);
      if (i >= trips) break;
      variable = i;
      walk(loop.body);
    }
    variable = 0;
  }

  const Program& program_;
  Visitor& visitor_;
  std::array<int64_t, kMaximumLoopDepth> variables_{};
};

}  // namespace neuron_sim
