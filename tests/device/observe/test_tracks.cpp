#include "device/observe/tracks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// How often two slices of one track overlap without nesting.
int overlaps(const Recording& recording) {
  const TrackLayout layout = lay_out(recording);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> spans(layout.tracks.size());  // start, -end
  const auto add = [&](uint32_t track, Picoseconds start, Picoseconds end) {
    if (track != kNoIndex) spans[track].emplace_back(start.count, -end.count);
  };
  for (size_t i = 0; i < recording.events.size(); ++i) {
    const Span& span = recording.events[i].step.span;
    add(layout.of_event[i], span.start, span.end);
  }
  for (size_t i = 0; i < recording.instances.size(); ++i) {
    const RecordedInstance& instance = recording.instances[i];
    add(layout.of_instance[i], instance.ready, instance.start);
  }
  int count = 0;
  for (auto& track : spans) {
    std::ranges::sort(track);
    std::vector<int64_t> open;
    for (const auto& [start, end] : track) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      count += !open.empty() && -end > open.back();
      open.push_back(-end);
    }
  }
  return count;
}

TEST(Tracks, SlicesOfATrackFollowEachOtherOrNest) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto program = RandomProgram(seed, load_architecture("trn2"), {}).build();
    EXPECT_EQ(overlaps(record(*program)), 0);
  }
}

TEST(Tracks, TransfersAtTheSameTimeAreOnLanesOfTheirQueue) {
  Builder builder("loads", load_architecture("trn2"));
  const View source = builder.argument("source", {128, 1024}, Dtype::kFloat32);
  for (int i = 0; i < 3; ++i) {
    const View tile = builder.sbuf(text("tile", i), {128, 1024}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = tile, .src = source});
  }
  const auto program = builder.finish();
  const Recording recording = record(*program);
  EXPECT_EQ(overlaps(recording), 0);
  std::set<std::string> queues;
  for (const Track& track : lay_out(recording).tracks) {
    if (track.kind == TrackKind::kQueue) queues.insert(track.name);
  }
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(*queues.rbegin(), *queues.begin() + ", 2");
}

}  // namespace
}  // namespace neuron_sim
