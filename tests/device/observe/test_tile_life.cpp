#include "device/observe/tile_life.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

/// Tiles: 0 and 1 share bytes, 2 has other bytes, 3 the bytes of 0 in other partitions, 4 is in
/// HBM.
Program five_tiles() {
  Program program;
  const auto add = [&](MemoryKind memory, int32_t partition, int64_t address) {
    Tile tile;
    tile.memory = memory;
    tile.start_partition = partition;
    tile.partitions = 64;
    tile.address = address;
    tile.bytes = 100;
    program.tiles.push_back(tile);
  };
  add(MemoryKind::kSbuf, 0, 0);
  add(MemoryKind::kSbuf, 0, 99);
  add(MemoryKind::kSbuf, 0, 199);
  add(MemoryKind::kSbuf, 64, 0);
  add(MemoryKind::kHbm, 0, 0);
  return program;
}

TEST(TileLives, GoFromTheFirstTouchToTheLast) {
  const Program program = five_tiles();
  TileLives lives(program);
  lives.touch(0, true, {10}, {20});
  lives.touch(0, false, {30}, {40});
  lives.touch(0, false, {25}, {35});
  const std::vector<TileLife> found = lives.finish();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].start, Picoseconds{10});
  EXPECT_EQ(found[0].end, Picoseconds{40});
}

TEST(TileLives, EndWhenAnotherTileTakesTheirBytes) {
  const Program program = five_tiles();
  TileLives lives(program);
  lives.touch(0, true, {0}, {50});
  for (const TileId tile : {2, 3, 4}) lives.touch(tile, true, {10}, {20});  // none of its bytes
  lives.touch(1, false, {30}, {40});                                        // reads take nothing
  lives.touch(1, true, {45}, {60});
  lives.touch(0, true, {70}, {80});
  const std::vector<TileLife> found = lives.finish();
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].tile, 0);
  EXPECT_EQ(found[0].end, Picoseconds{45});  // the write began a little before the last read's end
  EXPECT_EQ(found[3].tile, 1);
  EXPECT_EQ(found[3].end, Picoseconds{60});
  EXPECT_EQ(found[4].tile, 0);
  EXPECT_EQ(found[4].start, Picoseconds{70});
}

TEST(TileLives, CountTheBytesOfAllPartitions) {
  const Program program = five_tiles();
  EXPECT_EQ(bytes_of(program.tiles[0]), 6400);
  EXPECT_EQ(bytes_of(program.tiles[4]), 100);
}

}  // namespace
}  // namespace neuron_sim
