#pragma once
// Contract of every pass: the arguments hold the same bytes afterwards, unless it may keep values
// unrounded.

#include <memory>

#include "device/compiler/pass.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {

/// Bytes of all arguments after running `program` on arguments made of `seed`.
inline std::vector<std::vector<std::byte>> bytes_after(std::shared_ptr<const Program> program,
                                                       uint64_t seed = 7) {
  ThreadPool pool(1);
  ProgramRun run(std::move(program));
  run.randomise(seed);
  run.execute(make_plan(run.program()), pool);
  return run.bytes();
}

/// The settings without what may change bytes.
inline PassSettings keeping_bytes(PassSettings settings) {
  settings.set("elide_rounding_copies", 0);
  return settings;
}

/// Runs the pass of that name on the line, verified.
inline bool run_pass(StraightLine& line, std::string_view name, const PassSettings& settings = {},
                     const std::vector<TileId>& undefined = {}) {
  PassState state{.settings = settings, .undefined = undefined};
  return run_pass(pass_named(name), line, state);
}

/// The instructions of that name of a program without loops, in program order.
inline std::vector<const Instruction*> instructions_named(const Program& program,
                                                          std::string_view name) {
  std::vector<const Instruction*> result;
  for (const Node& node : program.cores.at(0)) {
    const Instruction& instruction = program.instructions[node.index];
    if (instruction.type->name == name) result.push_back(&instruction);
  }
  return result;
}

}  // namespace neuron_sim
