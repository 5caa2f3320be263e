#include "device/analysis/hazard_groups.h"

#include <gtest/gtest.h>

#include "device/analysis/dependencies.h"
#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

/// Scalar reads `tiles` tiles side by side, then Vector writes as many that lie half a tile
/// further: each has bytes of two of the first ones, and all of them are one hazard group.
std::shared_ptr<const Program> shifted_tiles(int64_t tiles) {
  constexpr int64_t kElements = 256, kBytes = 4 * kElements, kOutput = 128 * kBytes;
  Builder builder("shifted_tiles", load_architecture("trn2"));
  const auto place = [&](const char* label, int64_t address) {
    return builder.place(MemoryKind::kSbuf, label, {128, kElements}, Dtype::kFloat32, address, 0,
                         1);
  };
  for (int64_t i = 0; i < tiles; ++i) {
    builder.emit(TensorCopy{.dst = place("copy", kOutput),
                            .src = place("before", i * kBytes),
                            .engine = EngineKind::kScalar});
  }
  for (int64_t i = 0; i < tiles; ++i) {
    builder.emit(
        Memset{.dst = place("after", i * kBytes + kBytes / 2), .engine = EngineKind::kVector});
  }
  return builder.finish();
}

TEST(HazardGroups, CountTilesWhoseBytesOverlap) {
  const auto program = shifted_tiles(5);
  std::vector<size_t> tiles = tiles_of_hazard_groups(*program);
  std::erase(tiles, size_t{1});  // the engines' own
  EXPECT_EQ(tiles, (std::vector<size_t>{10, 5}));
}

TEST(HazardGroups, OfManyTilesKeepTheAccessesOfEachOne) {
  const uint32_t tiles = 100;
  const auto found = dependencies(*shifted_tiles(tiles));
  for (uint32_t i = 0; i < tiles; ++i) {
    std::vector<uint32_t> readers{i};
    if (i + 1 < tiles) readers.push_back(i + 1);
    EXPECT_EQ(found[tiles + i], readers) << i;
  }
}

TEST(HazardGroups, OfManyTilesLetAWriteStartWhenItsOwnBytesHaveBeenRead) {
  struct FirstWrite : TimelineObserver {
    void step(const Program& program, const StepEvent& event) override {
      const bool writes = program.instructions[event.instruction].engine == EngineKind::kVector;
      if (writes && event.kind == EventKind::kStep && start == Picoseconds{}) {
        start = event.span.start;
      }
    }
    Picoseconds start{};
  };
  const auto first_write = [](int64_t tiles) {
    FirstWrite observer;
    TimelineOptions options{.observer = &observer};
    EXPECT_EQ(simulate(*shifted_tiles(tiles), {}, options).widened_accesses, 0);
    return observer.start;
  };
  EXPECT_GT(first_write(3), Picoseconds{});
  EXPECT_EQ(first_write(100), first_write(3));
}

}  // namespace
}  // namespace neuron_sim
