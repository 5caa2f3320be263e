#include "device/compiler/passes.h"

#include <set>

#include "device/timeline/timeline.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

TEST(Passes, EveryStackKeepsTheBytesOfGeneratedPrograms) {
  for (const PublishedStack& stack : published_stacks()) {
    const bool generation2 = std::string_view(stack.name).find("trn1") != std::string_view::npos;
    const Architecture& architecture = load_architecture(generation2 ? "trn1" : "trn2");
    for (uint64_t seed = 0; seed < 20; ++seed) {
      RandomProgramOptions options;
      options.blocks = 6;
      options.undefined_reads = seed % 3 == 0;
      const auto program = RandomProgram(seed, architecture, options).build();
      const Compiled compiled = compile(program, stack.settings);
      EXPECT_EQ(compiled.unchanged.empty(), std::string_view(stack.name) != "none");
      ASSERT_EQ(bytes_after(program), bytes_after(compiled.program)) << stack.name << " " << seed;
    }
  }
}

TEST(Passes, EverySettingIsThatOfAPassAndEveryPassHasASwitch) {
  std::set<std::string_view> switches;
  for (const PassSetting& each : pass_settings()) {
    EXPECT_STREQ(pass_named(each.pass).name, each.pass);
    if (each.is_switch) switches.insert(each.name);
  }
  for (const Pass& pass : pipeline()) EXPECT_EQ(switches.count(pass.switched_by()), 1U);
}

}  // namespace
}  // namespace neuron_sim
