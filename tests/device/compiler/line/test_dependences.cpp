#include "device/compiler/line/dependences.h"

#include "device/builder/builder.h"
#include "device/isa/dma/collective.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

using Sources = std::vector<uint32_t>;

Sources sources(const StraightLine& line, uint32_t instance) {
  const Dependences dependences(line);
  const auto of = dependences.of(instance);
  return {of.begin(), of.end()};
}

TEST(Dependences, ReadersWaitForWritersAndWritersForBoth) {
  Builder builder("chain", load_architecture("trn2"));
  const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
  const View y = builder.sbuf("y", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{x.slice(1, 0, 4), 1});                     // 0
  builder.emit(Memset{x.slice(1, 4, 4), 2});                     // 1: other bytes
  builder.emit(TensorCopy{y.slice(1, 0, 2), x.slice(1, 3, 2)});  // 2: reads both
  builder.emit(TensorCopy{y.slice(1, 2, 2), x.slice(1, 0, 2)});  // 3: reads the first
  builder.emit(Memset{x.slice(1, 0, 4), 3});                     // 4: overwrites what 2, 3 read
  const StraightLine line = *unroll(*builder.finish()).line;     // not renamed: one tile
  EXPECT_EQ(sources(line, 1), Sources{});
  EXPECT_EQ(sources(line, 2), (Sources{0, 1}));
  EXPECT_EQ(sources(line, 3), (Sources{0}));
  EXPECT_EQ(sources(line, 4), (Sources{0, 2, 3}));
}

TEST(Dependences, TheOnlyWriteOfATileWaitsForReadsBeforeItAndReadsOfItsBytesWaitForIt) {
  Builder builder("once", load_architecture("trn2"));
  const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
  const View y = builder.sbuf("y", {128, 16}, Dtype::kFloat32);
  builder.emit(TensorCopy{y.slice(1, 0, 4), x.slice(1, 0, 4)});  // 0: before x is written
  builder.emit(Memset{x.slice(1, 0, 4), 1});                     // 1
  builder.emit(TensorCopy{y.slice(1, 4, 4), x.slice(1, 4, 4)});  // 2: bytes that nothing writes
  builder.emit(TensorCopy{y.slice(1, 8, 4), x.slice(1, 2, 4)});  // 3
  builder.emit(Memset{y.slice(1, 12, 4), 1});                    // 4
  const StraightLine line = *unroll(*builder.finish()).line;
  EXPECT_EQ(sources(line, 1), (Sources{0}));
  EXPECT_EQ(sources(line, 2), Sources{});
  EXPECT_EQ(sources(line, 3), (Sources{1}));
  EXPECT_EQ(sources(line, 4), Sources{});
  Builder again("again", load_architecture("trn2"));
  const View z = again.sbuf("z", {128, 8}, Dtype::kFloat32);
  again.emit(Memset{z.slice(1, 0, 4), 1});                                               // 0
  again.emit(TensorCopy{again.sbuf("w", {128, 4}, Dtype::kFloat32), z.slice(1, 4, 4)});  // 1
  again.emit(TensorCopy{again.sbuf("v", {128, 4}, Dtype::kFloat32), z.slice(1, 2, 4)});  // 2
  const StraightLine once = *unroll(*again.finish()).line;
  EXPECT_EQ(sources(once, 1), Sources{});
  EXPECT_EQ(sources(once, 2), (Sources{0}));
}

TEST(Dependences, VersionsAtOneAddressDoNotWaitForEachOtherButPlacedTilesDo) {
  for (const bool by_hand : {false, true}) {
    Builder builder("versions", load_architecture("trn2"));
    const View x = by_hand ? builder.place(MemoryKind::kSbuf, "x", {128, 8}, Dtype::kFloat32, 1024)
                           : builder.sbuf("x", {128, 8}, Dtype::kFloat32);
    const View y = builder.sbuf("y", {128, 16}, Dtype::kFloat32);
    for (int i = 0; i < 2; ++i) {
      builder.emit(Memset{x, static_cast<double>(i)});
      builder.emit(TensorCopy{y.slice(1, 8 * i, 8), x});
    }
    const StraightLine line = renamed_line(*builder.finish());
    EXPECT_EQ(sources(line, 2), by_hand ? (Sources{0, 1}) : Sources{});
    EXPECT_EQ(sources(line, 3), (Sources{2}));
  }
}

TEST(Dependences, ACollectiveWaitsForTheOneBeforeIt) {
  Builder builder("ranks", load_architecture("trn2"));
  const auto groups = std::make_shared<const ReplicaGroups>(ReplicaGroups{{{0, 1}}});
  const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
  for (const char* label : {"first", "second"}) {
    const View tensor = builder.argument(label, {128, 8}, Dtype::kFloat32);
    builder.emit(Collective{CollectiveKind::kAllReduce, tensor, tensor, groups});
    builder.emit(Memset{x, 1});
  }
  const StraightLine line = *unroll(*builder.finish()).line;
  EXPECT_EQ(sources(line, 0), Sources{});
  EXPECT_EQ(sources(line, 2), (Sources{0}));
  const auto straight = lower(line);
  EXPECT_TRUE(straight->has_collectives);
  EXPECT_EQ(straight->replica_groups, line.replica_groups);
}

TEST(Dependences, TensorsInHbmWaitOnlyWhereBytesAreWrittenTwiceOrRead) {
  for (const bool reads : {false, true}) {
    Builder builder("rows", load_architecture("trn2"));
    const View rows = builder.argument("rows", {300, 128, 8}, Dtype::kFloat32);
    const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
    const View y = builder.sbuf("y", {128, 8}, Dtype::kFloat32);
    builder.emit(Memset{x, 1});
    builder.loop(299, [&](const Affine& i) { builder.emit(DmaCopy{rows.select(0, i), x}); });
    builder.emit(DmaCopy{y, rows.select(0, reads ? 298 : 299)});
    builder.emit(DmaCopy{rows.select(0, 299), x});
    const StraightLine line = renamed_line(*builder.finish());
    EXPECT_EQ(sources(line, 5), (Sources{0}));  // 299 stores, none of a byte twice
    const Sources load = sources(line, 300);
    EXPECT_EQ(std::count(load.begin(), load.end(), 299U), reads ? 1 : 0);
  }
}

}  // namespace
}  // namespace neuron_sim
