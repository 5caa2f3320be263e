#pragma once
// What tests of the middle end share: a kernel as the passes see it, and its program afterwards.

#include "device/compiler/back_end/allocate.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {

inline StraightLine renamed_line(const Program& program) {
  StraightLine line = *unroll(program).line;
  run_pass(line, "rename_buffers");
  return line;
}

/// The line with places on chip, in its order.
inline std::shared_ptr<const Program> placed(StraightLine line) {
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));
  EXPECT_TRUE(run_pass(line, "allocate_psum"));
  return lower(std::move(line));
}

/// Names of the instructions in program order.
inline std::vector<std::string_view> names(const StraightLine& line) {
  std::vector<std::string_view> result;
  for (const StraightInstruction& instance : line.instructions) {
    result.push_back(instance.instruction.type->name);
  }
  return result;
}

/// Elements per partition of operand `index` of every instruction of that name, in order.
inline std::vector<int64_t> widths(const StraightLine& line, std::string_view name,
                                   size_t index = 0) {
  std::vector<int64_t> result;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type->name != name) continue;
    result.push_back(view_of(line, line.whole_operands_of(instance)[index]).free_elements());
  }
  return result;
}

}  // namespace neuron_sim
