#pragma once
// Which instances of a program may run in any order, as its kernel claims: iterations of a parallel
// loop, instances of a grid.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Instructions [first, end) belong to the body of a parallel loop, or to instances of a grid.
struct IterationMark {
  enum class Kind : uint8_t {
    kLoop,      ///< iterations are independent, but for sums (affine_range)
    kInstance,  ///< instances of a grid, each with its own SBUF and PSUM
  } kind = Kind::kLoop;
  uint32_t first = 0, end = 0;
  /// Program loops around the loop; -1: these instructions are one iteration of an unrolled loop.
  int32_t level = -1;
  int64_t group = -1;      ///< unrolled: the same for all iterations of one execution of the loop
  int64_t iteration = -1;  ///< unrolled: which one
  std::string line;        ///< of the loop
};

/// Program loops around every instruction.
std::vector<size_t> loop_depths(const Program& program);

/// Follows a walk over a program and tells which instances have no order.
class IterationOrder {
 public:
  IterationOrder(const Program& program, std::vector<IterationMark> marks);

  bool empty() const { return marks_.empty(); }
  /// The walk begins an iteration of a loop.
  void begin(const Loop& loop, int64_t iteration);
  /// The iterations of the loops that are open around an instruction, as a number.
  uint32_t context(uint32_t instruction) const;
  /// The loop or grid of which both instances are different iterations, when no loop around it
  /// orders them; null when they have an order or are one iteration.
  const IterationMark* unordered(uint32_t instruction, uint32_t context, uint32_t other,
                                 uint32_t other_context) const;
  /// The iteration of that execution of an unrolled loop which an instruction belongs to.
  const IterationMark* mark_at(uint32_t instruction, int64_t group) const;

 private:
  /// A loop of the program, or an iteration of an unrolled one, around an instruction.
  struct Step {
    uint32_t loop = UINT32_MAX;  ///< of the program; UINT32_MAX: unrolled
    int32_t level = -1;
    int32_t mark = -1;  ///< -1: in order
  };
  struct Context {
    uint32_t parent = 0;
    int64_t iteration = 0;
  };
  struct Range {
    uint32_t first = UINT32_MAX, end = 0;
  };
  Range range_of(const Block& block);
  void add_steps(const Block& block, std::vector<uint32_t>& loops);
  std::vector<Step> steps_of(uint32_t instruction, const std::vector<uint32_t>& loops) const;
  int32_t mark_of(const Loop& loop, uint32_t instruction) const;
  std::vector<int64_t> iterations(uint32_t context, size_t depth) const;

  const Program& program_;
  std::vector<IterationMark> marks_;
  std::vector<Range> ranges_;             // per loop
  std::vector<std::vector<Step>> paths_;  // per instruction, outermost first
  std::vector<size_t> depths_;            // per instruction: program loops around it
  std::vector<Context> contexts_;         // 0: outside of all loops
  std::array<std::array<uint32_t, kMaximumLoopDepth>, kMaximumCores> open_{};
};

}  // namespace neuron_sim
