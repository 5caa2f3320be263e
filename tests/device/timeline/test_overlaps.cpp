#include "device/timeline/overlaps.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

const Architecture& architecture() { return load_architecture("trn2"); }

/// Vector and GpSimd write two tiles of 4000 bytes in turn, the second one `apart` bytes on and on
/// partitions from `partition` on.
std::shared_ptr<const Program> two_writers(int64_t apart, int partition = 0) {
  Builder builder("two_writers", architecture());
  const auto place = [&](const char* label, int64_t address, int start) {
    return builder.place(MemoryKind::kSbuf, label, {64, 1000}, Dtype::kFloat32, address, start, 2);
  };
  const View first = place("first", 0, 0), second = place("second", apart, partition);
  builder.loop(50, [&](const Affine& index) {
    builder.emit(Memset{.dst = first.turn(index), .engine = EngineKind::kVector});
    builder.emit(Memset{.dst = second.turn(index), .engine = EngineKind::kGpSimd});
  });
  return builder.finish();
}

TEST(Overlaps, NameTheTilesAndTheirCommonBytes) {
  const OverlapReport report = report_overlaps(*two_writers(7996));
  EXPECT_EQ(report.tiles,
            std::vector<std::string>{"first and second share bytes [7996, 8000) of sbuf"});
  EXPECT_EQ(report_overlaps(*two_writers(0)).tiles,
            std::vector<std::string>{"first and second share bytes [0, 8000) of sbuf"});
}

TEST(Overlaps, OfNeighboursAndOfOtherPartitionsAreNone) {
  for (const auto& program : {two_writers(8000), two_writers(0, 64)}) {
    const OverlapReport report = report_overlaps(*program);
    EXPECT_TRUE(report.tiles.empty());
    EXPECT_EQ(report.lost, Picoseconds{});
  }
  EXPECT_EQ(report_overlaps(*two_writers(0, 63)).tiles.size(), 1u);
}

TEST(Overlaps, LoseTheTimeThatASeparatePlacementSaves) {
  const auto shared = two_writers(4000), apart = two_writers(8000);
  const Picoseconds lost = report_overlaps(*shared).lost;
  EXPECT_GT(lost, Picoseconds{});
  EXPECT_EQ(lost, simulate(*shared).body - simulate(*apart).body);
}

TEST(Overlaps, OfTilesThatTheBuilderReusesAreNotReported) {
  Builder builder("scopes", architecture());
  for (const char* label : {"one", "two"}) {
    builder.scope([&] {
      builder.emit(Memset{.dst = builder.sbuf(label, {128, 100}, Dtype::kFloat32)});
    });
  }
  EXPECT_TRUE(report_overlaps(*builder.finish()).tiles.empty());
}

TEST(Overlaps, OfAPlacedTileWithOneOfTheBuilderAreReported) {
  Builder builder("mixed", architecture());
  const View automatic = builder.sbuf("automatic", {128, 100}, Dtype::kFloat32);
  const View placed =
      builder.place(MemoryKind::kSbuf, "placed", {128, 1}, Dtype::kFloat32, 396, 0, 1);
  builder.emit(Memset{.dst = automatic});
  builder.emit(TensorCopy{.dst = placed, .src = automatic.slice(1, 0, 1)});
  EXPECT_EQ(report_overlaps(*builder.finish()).tiles,
            std::vector<std::string>{"automatic and placed share bytes [396, 400) of sbuf"});
}

}  // namespace
}  // namespace neuron_sim
