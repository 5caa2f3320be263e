#include "device/compiler/dump.h"

#include <cstdlib>

#include "device/base/errors.h"
#include "device/compiler/passes.h"
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
