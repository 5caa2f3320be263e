#pragma once
// Shared by the batching passes: a loop is split before and after a statement, and the instances of
// the statement become one instruction.

#include <functional>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Which statements a pass batches.
struct BatchRule {
  /// Most instances of the instance's statement that may become one instruction; below 2, or no
  /// function: none.
  std::function<int64_t(const StraightLine&, const StraightInstruction&)> most;
  /// Loops of products that add to PSUM are split from the code around them.
  bool around_sums = false;
  /// Results in PSUM may be laid side by side in one bank.
  bool joins_psum = false;
  /// A loop whose iterations cannot all be split together is split in blocks; else it is not.
  bool partly = false;
};

/// Splits the innermost loop around each statement that `rule` names: blocks of k iterations, in
/// each block first everything before the statement for all of its iterations, then the batched
/// statement, then everything after it. k is the least that one of the loop's statements allows;
/// without `partly` it is all iterations.
/// The tiles that are live across a split must fit SBUF and the banks of PSUM (see `partly`). A
/// statement is unchanged if a dependence from one iteration to the next forbids the split or its
/// instances cannot be stacked (stack_instances.h).
/// Needs single-assignment versions (rename_buffers.h). Outer loops first; O(n log n) per level.
void batch_statements(StraightLine& line, const BatchRule& rule);

}  // namespace neuron_sim
