#include "device/observe/engine_lanes.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// Busy steps by lane, straight from the timeline.
class StepCounter final : public TimelineObserver {
 public:
  void step(const Program&, const StepEvent& event) override {
    if (event.kind == EventKind::kWait) return;
    const bool transfer = event.kind == EventKind::kTransfer;
    const std::string lane = text(transfer ? "DMA queue of " : "", name(event.engine));
    ++steps[lane];
    end[lane] = std::max(end[lane], event.span.end);
  }
  std::map<std::string, int64_t> steps;
  std::map<std::string, Picoseconds> end;
};

TEST(EngineLanes, ShowEveryStepOfEveryEngineInAnyResolution) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {}).build();
    StepCounter counter;
    TimelineOptions options{.observer = &counter};
    simulate(*program, {}, options);
    for (const size_t most : {size_t{1}, size_t{7}, size_t{1} << 30}) {
      const std::vector<EngineLane> lanes = engine_lanes(*program, most);
      ASSERT_EQ(lanes.size(), counter.steps.size());
      for (const EngineLane& lane : lanes) {
        EXPECT_LE(lane.spans.size(), most);
        int64_t steps = 0;
        for (size_t i = 0; i < lane.spans.size(); ++i) {
          steps += lane.spans[i].steps;
          EXPECT_LE(lane.spans[i].start, lane.spans[i].end);
          if (i > 0) {
            EXPECT_GT(lane.spans[i].start, lane.spans[i - 1].end);
          }
        }
        EXPECT_EQ(steps, counter.steps[lane.name]) << lane.name;
        EXPECT_EQ(lane.spans.back().end, counter.end[lane.name]) << lane.name;
      }
    }
  }
}

TEST(EngineLanes, NameASpanAfterItsInstructionWhenItHasOneKind) {
  Builder builder("lanes", load_architecture("trn2"));
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.emit(Memset{tile, 0});
  const auto program = builder.finish();
  const std::vector<EngineLane> lanes = engine_lanes(*program, 4);
  ASSERT_EQ(lanes.size(), 1u);
  EXPECT_EQ(lanes[0].spans.at(0).name, "memset");
  EXPECT_EQ(lanes[0].spans.at(0).steps, 1);
}

TEST(EngineLanes, RefuseToShowNothing) {
  const auto program = RandomProgram(1, load_architecture("trn2"), {}).build();
  EXPECT_THROW(engine_lanes(*program, 0), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
