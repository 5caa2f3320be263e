#pragma once
// The one walk over a Program: yields instruction instances in program order; nothing is unrolled
// in memory. Executor, timeline, definedness and the race check are visitors.

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/base/interruption.h"
#include "device/program/meeting.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Walks all cores of a program: each one, core 0 first, to its next synchronisation or its end,
/// then they meet, and so on. KernelError (check_meeting) when they cannot; Interruption. `Visitor`
/// has
///   void instruction(uint32_t index, const int64_t* variables);
///   int64_t trip_count(const Loop& loop);
///   int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips);
///   void meet(const Meeting& meeting);
/// `boundary` is called before each iteration and returns how many iterations to skip (0: none).
template <typename Visitor>
class Cursor {
 public:
  Cursor(const Program& program, Visitor& visitor) : program_(program), visitor_(visitor) {}

  void walk() {
    std::array<Path, kMaximumCores> paths;
    for (size_t core = 0; core < program_.cores.size(); ++core) {
      paths[core].frames[0] = begin(program_.cores[core]);
    }
    while (true) {
      Meeting meeting;
      bool ended = true;
      for (size_t core = 0; core < program_.cores.size(); ++core) {
        meeting.instruction[core] = advance(paths[core]);
        meeting.variables[core] = paths[core].variables.data();
        ended = ended && meeting.instruction[core] == Meeting::kEnded;
      }
      if (ended) return;
      check_meeting(program_, meeting);
      visitor_.meet(meeting);
    }
  }

 private:
  /// An open block and, except for the outermost, its loop.
  struct Frame {
    const Node* next = nullptr;
    const Node* end = nullptr;
    const Loop* loop = nullptr;
    uint32_t index = 0;
    int64_t iteration = -1;
    int64_t trips = 0;
  };
  struct Path {
    std::array<Frame, kMaximumLoopDepth + 1> frames;
    size_t depth = 0;
    std::array<int64_t, kMaximumLoopDepth> variables{};
  };

  static Frame begin(const Block& block) {
    Frame frame;
    frame.next = block.data();
    frame.end = frame.next + block.size();
    return frame;
  }

  /// Walks to the next synchronisation, whose index it returns, or to the end.
  int64_t advance(Path& path) {
    while (true) {
      if (++steps_ % kStepsPerPoll == 0) poll_interruption();
      Frame& frame = path.frames[path.depth];
      if (frame.next == frame.end) {
        if (path.depth == 0) return Meeting::kEnded;
        iterate(path);
        continue;
      }
      const Node& node = *frame.next++;
      if (node.kind == Node::Kind::kInstruction) {
        visitor_.instruction(node.index, path.variables.data());
      } else if (node.kind == Node::Kind::kLoop) {
        open(path, node.index);
      } else {
        return node.index;
      }
    }
  }

  void open(Path& path, uint32_t index) {
    const Loop& loop = program_.loops[index];
    Frame frame;  // its first iteration begins like all others
    frame.loop = &loop;
    frame.index = index;
    frame.trips = visitor_.trip_count(loop);
    path.frames[++path.depth] = frame;
  }

  /// The next iteration of the innermost loop, or its end.
  void iterate(Path& path) {
    Frame& frame = path.frames[path.depth];
    int64_t& variable = path.variables[static_cast<size_t>(frame.loop->level)];
    int64_t next = frame.iteration + 1;
    if (next < frame.trips) next += visitor_.boundary(*frame.loop, frame.index, next, frame.trips);
    if (next >= frame.trips) {
      variable = 0;
      --path.depth;
      return;
    }
    const Block& body = frame.loop->body;
    frame.next = body.data();
    frame.end = frame.next + body.size();
    frame.iteration = variable = next;
  }

  static constexpr uint32_t kStepsPerPoll = 64;

  const Program& program_;
  Visitor& visitor_;
  uint32_t steps_ = 0;
};

/// Base of the visitors of every iteration.
struct EveryIteration {
  int64_t trip_count(const Loop& loop) const { return loop.trip_count; }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }
};

/// Base of the visitors without registers: of a loop whose trip count depends on data they visit at
/// most one iteration.
struct WalkWithoutData : EveryIteration {
  int64_t trip_count(const Loop& loop) const {
    return loop.register_index < 0 ? loop.bound : std::min<int64_t>(loop.bound, 1);
  }
};

/// Visits the instructions where cores meet like any other, core by core.
template <typename Visitor>
void visit_meeting(const Meeting& meeting, Visitor& visitor) {
  for (size_t core = 0; core < meeting.instruction.size(); ++core) {
    visitor.instruction(static_cast<uint32_t>(meeting.instruction[core]), meeting.variables[core]);
  }
}

}  // namespace neuron_sim
