#include "device/compiler/dump.h"

#include <cstdlib>
#include <map>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/compiler/passes.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

const PassSettings& settings() { return published_stack("neuronx-cc trn2").settings; }

/// What compiling prints with NEURON_SIM_DUMP, and the listing of what it makes.
struct Dumped {
  std::string printed, program;
};
Dumped dumped(const char* request) {
  const auto program = RandomProgram(3, load_architecture("trn2"), {}).build();
  setenv("NEURON_SIM_DUMP", request, 1);
  testing::internal::CaptureStderr();
  const Compiled compiled = compile(program, settings());
  unsetenv("NEURON_SIM_DUMP");
  return {testing::internal::GetCapturedStderr(), listing(*compiled.program)};
}

TEST(Dump, PrintsTheProgramAfterThePassAndChangesNothing) {
  const Dumped silent = dumped(""), one = dumped("after:schedule"), all = dumped("after:all");
  EXPECT_EQ(silent.printed, "");
  EXPECT_NE(one.printed.find("after schedule: " + silent.program), std::string::npos);
  EXPECT_EQ(one.printed.find("after rename_buffers: "), std::string::npos);
  EXPECT_EQ(one.program, silent.program);
  for (const Pass& pass : pipeline()) {
    const bool printed =
        all.printed.find(text("after ", pass.name, ": kernel ")) != std::string::npos;
    const bool runs = settings()[pass.switched_by()] == 1 && pass.stage != Stage::kSpills;
    EXPECT_EQ(printed, runs) << pass.name;  // the program fits without spills
  }
  EXPECT_EQ(all.program, silent.program);
}

TEST(Dump, APassOnALoopSaysHowManyInstancesItTookAndWhy) {
  for (const int64_t trips : {1, 3}) {
    Builder builder("loop", load_architecture("trn2"));
    const View in = builder.argument("in", {3, 128, 8}, Dtype::kFloat32);
    builder.loop(trips, [&](const Affine& i) {
      builder.emit(
          DmaCopy{.dst = builder.sbuf("tile", {128, 8}, Dtype::kFloat32), .src = in.select(0, i)});
    });
    const StraightLine line = *unroll(*builder.finish()).line;
    const auto said = [&](const char* pass) { return taken_by(pass_named(pass), line); };
    if (trips == 1) {
      EXPECT_EQ(said("schedule"), "");
      continue;
    }
    const std::string count = " took 3 instances of 1 instructions: ";
    EXPECT_EQ(said("rename_buffers"),
              "rename_buffers" + count + "tiles get a version in each iteration.\n");
    EXPECT_EQ(said("forward_stores"),
              "forward_stores" + count + "it compares instances of several iterations.\n");
    EXPECT_EQ(said("schedule"),
              "schedule" + count + "it places or schedules each iteration separately.\n");
    EXPECT_EQ(said("assign_queues"),
              "assign_queues" + count +
                  "other passes need them unrolled, what it does is alike in all iterations.\n");
  }
}

TEST(Dump, WhatPassesOfAlikeIterationsDoIsAlikeInAllIterations) {
  size_t changed = 0;
  for (const Pass& pass : pipeline()) {
    if (pass.iterations != Iterations::kAlike) continue;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const auto program = RandomProgram(seed, load_architecture("trn1"), {}).build();
      PassState state{.settings = settings()};
      StraightLine line = *unroll(*program).line;
      run_pass(pass_named("rename_buffers"), line, state);
      const StraightLine before = line;
      run_pass(pass, line, state);
      std::map<uint32_t, std::pair<const InstructionType*, EngineKind>> of_statement;
      for (const StraightInstruction& each : line.instructions) {
        if (each.instruction.type == &kMemset) continue;  // a column for all iterations
        const std::pair made{each.instruction.type, each.instruction.engine};
        EXPECT_EQ(of_statement.try_emplace(each.statement, made).first->second, made) << seed;
      }
      for (const StraightInstruction& each : before.instructions) {
        const auto& [type, engine] = of_statement[each.statement];
        changed += type != each.instruction.type || engine != each.instruction.engine;
      }
    }
  }
  EXPECT_GT(changed, 100U);
}

TEST(Dump, AnUnknownPassIsRefusedWithAllNames) {
  for (const char* request : {"after:fold", "schedule", "after:"}) {
    try {
      check_dump_request(request);
      FAIL() << "there is no such request";
    } catch (const KernelError& error) {
      EXPECT_EQ(std::string(error.what())
                    .find(text("NEURON_SIM_DUMP is '", request,
                               "'; there are: after:all, after:rename_buffers, ")),
                0U);
    }
  }
}

}  // namespace
}  // namespace neuron_sim
