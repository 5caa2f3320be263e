#include "device/observe/launch_phases.h"

#include <gtest/gtest.h>

namespace neuron_sim {
namespace {

Picoseconds length(const LaunchPhase& phase) { return phase.end - phase.start; }

TEST(LaunchPhases, AddUpToTheThreePublishedTimes) {
  for (const std::string& name : builtin_architectures()) {
    const Architecture& architecture = load_architecture(name);
    for (const bool software : {false, true}) {
      for (const int64_t body : {0, 1, 33'000'000}) {
        Timing timing;
        timing.body = {body};
        timing.software_descriptors = software;
        const LaunchPhases phases = launch_phases(timing, architecture);
        EXPECT_EQ(length(phases.total), timing.profile(architecture));
        EXPECT_EQ(length(phases.latency), timing.benchmark(architecture));
        EXPECT_EQ(length(phases.body), timing.body);
        EXPECT_EQ(phases.preamble.start, phases.total.start);
        EXPECT_EQ(phases.preamble.end, phases.body.start);
        EXPECT_EQ(phases.body.end, phases.postamble.start);
        EXPECT_EQ(phases.postamble.end, phases.total.end);
        EXPECT_EQ(phases.latency.end, phases.body.end);
        EXPECT_GE(std::min(phases.total.start, phases.latency.start), Picoseconds{0});
      }
    }
  }
}

TEST(LaunchPhases, ThePostambleOfTheTracesIs2100Nanoseconds) {
  const LaunchPhases phases = launch_phases(Timing{}, load_architecture("trn2"));
  EXPECT_EQ(length(phases.postamble), Picoseconds{2'100'000});
}

}  // namespace
}  // namespace neuron_sim
