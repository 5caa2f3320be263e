// What a run may read before it writes it, where data decides what it writes.

#include "device/analysis/definedness.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

/// Whether `write` defines all of a tile that is read after it.
template <typename Write>
bool defines(Write write) {
  Builder builder("defines", trn2());
  const View out = builder.argument("out", {1, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {1, 8}, Dtype::kFloat32);
  write(builder, tile);
  builder.emit(DmaCopy{.dst = out, .src = tile});
  const std::vector<TileId> tiles = possibly_undefined_tiles(*builder.finish());
  EXPECT_LE(tiles.size(), 1u);
  if (!tiles.empty()) {
    EXPECT_EQ(tiles[0], tile.tile());
  }
  return tiles.empty();
}

TEST(PossiblyUndefined, WritesThatDataDecidesDefineNothing) {
  EXPECT_TRUE(defines([](Builder& b, const View& tile) { b.emit(Memset{tile, 1}); }));
  EXPECT_FALSE(defines([](Builder& b, const View& tile) {
    b.emit(Memset{tile.slice(1, 0, 7), 1});
  }));
  EXPECT_FALSE(defines([](Builder& b, const View& tile) {
    b.emit(Memset{tile.slice(1, 0, 7), 1});
    b.emit(Memset{tile.slice(1, 0, 1).at_register(0, 4), 1});
  }));
  EXPECT_FALSE(defines([](Builder& b, const View& tile) {
    b.open_range(b.allocate_register(), {0}, {0}, 1);
    b.emit(Memset{tile, 1});
    b.close_loop();
  }));
}

TEST(PossiblyUndefined, ReadsThatDataDecidesReadTheWholeTile) {
  const auto reads = [](int64_t written) {
    Builder builder("reads", trn2());
    const View out = builder.argument("out", {1, 1}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {1, 8}, Dtype::kFloat32);
    builder.emit(Memset{tile.slice(1, 0, written), 1});
    builder.emit(DmaCopy{.dst = out, .src = tile.slice(1, 0, 1).at_register(0, 4)});
    return possibly_undefined_tiles(*builder.finish()).size();
  };
  EXPECT_EQ(reads(8), 0u);
  EXPECT_EQ(reads(7), 1u);
}

TEST(PossiblyUndefined, RowsOutOfRangeLeaveTheirPartitionsAlone) {
  for (const bool skip : {false, true}) {
    EXPECT_EQ(defines([&](Builder& b, const View& tile) {
                const View table = b.argument("table", {4, 8}, Dtype::kFloat32);
                const View index = b.sbuf("index", {1, 1}, Dtype::kInt32);
                b.emit(Memset{index, 0});
                b.emit(DmaCopy{.dst = tile,
                               .src = table.slice(0, 0, 1).indirect(4),
                               .index = index,
                               .oob_skip = skip});
              }),
              !skip);
  }
}

TEST(PossiblyUndefined, ScratchTensorsCountOnceTheyAreRead) {
  const auto reads = [](int64_t rows, int64_t columns, int64_t read) {
    Builder builder("scratch", trn2());
    const View out = builder.argument("out", {6, 8}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {6, 8}, Dtype::kFloat32);
    const View between = builder.scratch("between", {6, 8}, Dtype::kFloat32);
    const View unread = builder.scratch("unread", {6, 8}, Dtype::kFloat32);
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{.dst = unread.slice(0, 0, 1), .src = tile.slice(0, 0, 1)});
    for (const int64_t row : {2, 0, 4}) {  // not in the order of their bytes
      const int64_t count = std::min<int64_t>(rows - row, 2);
      if (count <= 0) continue;
      builder.emit(DmaCopy{.dst = between.slice(0, row, count).slice(1, 0, columns),
                           .src = tile.slice(0, row, count).slice(1, 0, columns)});
    }
    builder.emit(DmaCopy{.dst = out.slice(0, 0, read), .src = between.slice(0, 0, read)});
    return possibly_undefined_tiles(*builder.finish()).size();
  };
  EXPECT_EQ(reads(6, 8, 6), 0u);
  EXPECT_EQ(reads(5, 8, 5), 0u);
  EXPECT_EQ(reads(5, 8, 6), 1u);
  EXPECT_EQ(reads(6, 7, 1), 1u);
}

}  // namespace
}  // namespace neuron_sim
