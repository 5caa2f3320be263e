#include "device/compiler/back_end/allocate.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/compiler/line/input_loads.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
const Architecture& trn2() { return load_architecture("trn2"); }

/// A loop that sets and reads `tiles` tiles of that size in each of its iterations.
StraightLine versions(int64_t iterations, int64_t bytes, int tiles = 1,
                      MemoryKind memory = MemoryKind::kSbuf) {
  Builder builder("versions", trn2());
  const int64_t end = trn2().limits.sbuf_usable.count;
  const View sink = builder.place(MemoryKind::kSbuf, "sink", {128, 1}, kFloat, end - 4);
  std::vector<View> views;
  for (int i = 0; i < tiles; ++i) {
    const std::vector<int64_t> shape{128, bytes / 4};
    views.push_back(memory == MemoryKind::kSbuf ? builder.sbuf("tile", shape, kFloat)
                                                : builder.psum("tile", shape));
  }
  builder.loop(iterations, [&](const Affine&) {
    for (const View& view : views) builder.emit(Memset{view, 1, EngineKind::kVector});
    for (const View& view : views) {
      builder.emit(TensorCopy{sink, view.slice(1, 0, 1), EngineKind::kVector});
    }
  });
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers");
  return line;
}

/// Address of every version, in the order of their first instances.
std::vector<int64_t> addresses(const StraightLine& line) {
  std::vector<int64_t> result;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kMemset) continue;
    result.push_back(line.tile_of(line.operands_of(instance)[0]).address);
  }
  return result;
}

/// No two tiles of that memory that are in use at the same time share bytes.
void expect_disjoint(const StraightLine& line, MemoryKind memory) {
  const std::vector<Lifetime> lives = lifetimes(line);
  for (size_t a = 0; a < line.tiles.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const Tile& x = line.tiles[a];
      const Tile& y = line.tiles[b];
      if (x.memory != memory || y.memory != memory || (x.placed && y.placed)) continue;
      if (!lives[a].used() || !lives[b].used()) continue;
      const bool bytes = x.address < y.address + y.bytes && y.address < x.address + x.bytes;
      const bool fixed = x.placed || y.placed;
      const bool times = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      EXPECT_FALSE(bytes && (times || fixed)) << x.label << " and " << y.label;
    }
  }
}

TEST(AllocateSbuf, VersionsLieSideBySideWhileSbufLasts) {
  StraightLine line = versions(5, 4096);
  ASSERT_TRUE(run_pass(line, "allocate_sbuf"));
  const std::vector<int64_t> at = addresses(line);
  for (size_t i = 1; i < at.size(); ++i) EXPECT_EQ(at[i], at[i - 1] + 4096);
  EXPECT_EQ(at[0], 0);
}

TEST(AllocateSbuf, AFullSbufIsUsedAgainFromTheVersionThatWasFreedFirst) {
  const int64_t capacity = trn2().limits.sbuf_usable.count;
  const int64_t fits = (capacity - 4) / 16384;
  StraightLine line = versions(fits + 3, 16384);
  ASSERT_TRUE(run_pass(line, "allocate_sbuf"));
  const std::vector<int64_t> at = addresses(line);
  for (int64_t i = 0; i < fits; ++i) EXPECT_EQ(at[static_cast<size_t>(i)], i * 16384);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(at[static_cast<size_t>(fits + i)], i * 16384);
  }
  expect_disjoint(line, MemoryKind::kSbuf);
}

/// Loads tiles of one partition, 1 / parts of SBUF each, one after the other. Each is read after
/// 50 memsets on Vector, which take longer than a load.
StraightLine loads(int64_t parts) {
  const int64_t columns = trn2().limits.sbuf_usable.count / parts / 4 - 256;
  Builder builder("loads", trn2());
  const View in = builder.argument("in", {8, 1, columns}, kFloat);
  const int64_t end = trn2().limits.sbuf_usable.count;
  const View set = builder.place(MemoryKind::kSbuf, "set", {1, 64}, kFloat, end - 256);
  builder.loop(8, [&](const Affine& i) {
    const View tile = builder.sbuf("tile", {1, columns}, kFloat);
    builder.emit(DmaCopy{.dst = tile, .src = in.select(0, i)});
    builder.loop(50, [&](const Affine&) { builder.emit(Memset{set, 1, EngineKind::kVector}); });
    builder.emit(TensorCopy{set.slice(1, 0, 1), tile.slice(1, 0, 1), EngineKind::kVector});
  });
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers");
  return line;
}

TEST(AllocateSbuf, ALoadInTimeTakesNoPlaceThatIsInUseWhenItIsIssued) {
  StraightLine line = loads(3);
  ASSERT_TRUE(allocate_sbuf(line, SbufReuse::kSameSize, true));
  const std::vector<Lifetime> lives = lifetimes(line);
  const IssuePositions issue(line);
  const std::vector<uint32_t> all = input_loads(line);
  ASSERT_EQ(all.size(), 8U);
  for (size_t i = 1; i < all.size(); ++i) {
    const TileId tile = line.operands_of(line.instructions[all[i]])[0].tile;
    const TileId before = line.operands_of(line.instructions[all[i - 1]])[0].tile;
    ASSERT_LT(issue.of(all[i]), lives[static_cast<size_t>(before)].last);
    EXPECT_NE(line.tiles[static_cast<size_t>(tile)].address,
              line.tiles[static_cast<size_t>(before)].address);
  }
  expect_disjoint(line, MemoryKind::kSbuf);
}

TEST(AllocateSbuf, LoadsInTimeNeedAPlaceBesideTheOneThatIsRead) {
  StraightLine two = loads(2), one = loads(1);
  EXPECT_TRUE(allocate_sbuf(two, SbufReuse::kSameSize, true));
  EXPECT_FALSE(allocate_sbuf(one, SbufReuse::kSameSize, true));
  EXPECT_TRUE(allocate_sbuf(one, SbufReuse::kSameSize, false));
}

TEST(AllocateSbuf, ALoadOfWhatTheProgramStoresIsIssuedAfterTheStore) {
  // x fills SBUF, so that in time only a load that is issued after the store has a place.
  const int64_t columns = trn2().limits.sbuf_usable.count / 4 - 128;
  for (const bool stored : {true, false}) {
    Builder twice("twice", trn2(), TilePlacement::kAutomatic);
    const View source = twice.argument("source", {1, columns}, kFloat);
    const View scratch = twice.argument("scratch", {1, columns}, kFloat);
    const View x = twice.sbuf("x", {1, columns}, kFloat, 2);
    twice.emit(DmaCopy{.dst = x.turn(0), .src = source});
    twice.emit(DmaCopy{.dst = scratch, .src = x.turn(0)});
    twice.emit(DmaCopy{.dst = x.turn(1), .src = stored ? scratch : source});
    StraightLine line = *unroll(*twice.finish(Overflow::kSpilled)).line;
    run_pass(line, "rename_buffers");
    EXPECT_EQ(allocate_sbuf(line, SbufReuse::kSameSize, true), stored);
  }
}

TEST(AllocateSbuf, SmallFreeNeighboursMakeRoomForALargeTile) {
  Builder builder("join", trn2());
  const int64_t capacity = trn2().limits.sbuf_usable.count;
  const int64_t quarter = capacity / 4 / 64 * 64;
  for (int round = 0; round < 2; ++round) {
    builder.scope([&] {
      for (int i = 0; i < 4; ++i) {
        const View tile = builder.sbuf("quarter", {1, quarter / 4}, kFloat);
        builder.emit(Memset{tile, 1, EngineKind::kVector});
      }
    });
    builder.scope([&] {
      const View tile = builder.sbuf("half", {1, quarter / 2}, kFloat);
      builder.emit(Memset{tile, 1, EngineKind::kVector});
    });
  }
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers");
  ASSERT_TRUE(run_pass(line, "allocate_sbuf"));
  EXPECT_EQ(addresses(line)[4], 0);
  expect_disjoint(line, MemoryKind::kSbuf);
}

TEST(AllocateSbuf, SmallTilesSpreadOverTheSpaceOfLargeOnes) {
  Builder builder("phases", trn2());
  const int64_t capacity = trn2().limits.sbuf_usable.count;
  const int64_t large = capacity / 8 / 64 * 64;
  const View wide = builder.sbuf("wide", {1, large / 4}, kFloat);
  const View narrow = builder.sbuf("narrow", {1, 16}, kFloat);
  builder.loop(8, [&](const Affine&) { builder.emit(Memset{wide, 1, EngineKind::kVector}); });
  builder.loop(9, [&](const Affine&) { builder.emit(Memset{narrow, 1, EngineKind::kVector}); });
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers");
  ASSERT_TRUE(allocate_sbuf(line, SbufReuse::kLargerSpace));
  const std::vector<int64_t> at = addresses(line);
  const int64_t fresh = (capacity - 8 * large) / 64;  // narrow tiles that fit after the wide ones
  ASSERT_LT(fresh, 8);
  // One after the other in the space that was freed first, never in that of the one before.
  for (size_t i = 8 + static_cast<size_t>(fresh); i < at.size(); ++i) {
    EXPECT_EQ(at[i], static_cast<int64_t>(i - 8 - static_cast<size_t>(fresh)) * 64);
  }
}

TEST(AllocateSbuf, WhatDoesNotFitLeavesEverythingInPlace) {
  const int64_t capacity = trn2().limits.sbuf_usable.count;
  Builder builder("full", trn2());
  const View placed = builder.place(MemoryKind::kSbuf, "placed", {1, 16}, kFloat, capacity - 64);
  const View tile = builder.sbuf("tile", {1, (capacity / 64 - 1) * 16}, kFloat);
  builder.emit(Memset{tile, 1, EngineKind::kVector});
  builder.emit(Memset{placed, 1, EngineKind::kVector});
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers");
  EXPECT_TRUE(run_pass(line, "allocate_sbuf"));  // exactly full
  line.tiles[static_cast<size_t>(tile.tile())].bytes += 4;
  const std::vector<int64_t> before = addresses(line);
  EXPECT_FALSE(run_pass(line, "allocate_sbuf"));
  EXPECT_EQ(before, addresses(line));
}

TEST(AllocatePsum, BanksTakeTurns) {
  StraightLine line = versions(19, 512, 1, MemoryKind::kPsum);
  ASSERT_TRUE(run_pass(line, "allocate_psum"));
  const std::vector<int64_t> at = addresses(line);
  for (size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i], static_cast<int64_t>(i % 8) * 2048);
}

TEST(AllocatePsum, EightBanksFitAndNineDoNot) {
  StraightLine line = versions(2, 2048, 8, MemoryKind::kPsum);
  EXPECT_TRUE(run_pass(line, "allocate_psum"));
  expect_disjoint(line, MemoryKind::kPsum);
  StraightLine wide = versions(2, 2048, 8, MemoryKind::kPsum);
  for (Tile& tile : wide.tiles) {
    if (tile.memory == MemoryKind::kPsum) tile.bytes = 2052;  // two banks each
  }
  const std::vector<int64_t> before = addresses(wide);
  EXPECT_FALSE(run_pass(wide, "allocate_psum"));
  EXPECT_EQ(before, addresses(wide));
}

TEST(AllocatePsum, TilesOfSeveralBanksTakeNeighbours) {
  StraightLine line = versions(5, 6144, 2, MemoryKind::kPsum);
  ASSERT_TRUE(run_pass(line, "allocate_psum"));
  expect_disjoint(line, MemoryKind::kPsum);
  for (const int64_t address : addresses(line)) EXPECT_LE(address + 6144, 8 * 2048);
}

TEST(PsumBanks, AreFreeFromTheTimeOfTheirRelease) {
  StraightLine line = versions(1, 512, 1, MemoryKind::kPsum);
  PsumBanks banks(line);
  std::vector<int64_t> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(banks.take(1, 0));
  EXPECT_EQ(banks.earliest(1), PsumBanks::kNever);
  banks.release(taken[5], 1, 70);
  banks.release(taken[4], 1, 90);
  EXPECT_EQ(banks.earliest(1), 70);
  EXPECT_EQ(banks.earliest(2), 90);
  EXPECT_EQ(banks.take(1, 70), taken[5]);
  EXPECT_EQ(banks.earliest(1), 90);
}

TEST(Allocate, NoTwoTilesInUseShareBytesInGeneratedPrograms) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomProgramOptions options{.undefined_reads = seed % 4 == 0};
    StraightLine line = *unroll(*RandomProgram(seed, trn2(), options).build()).line;
    run_pass(line, "rename_buffers");
    ASSERT_TRUE(allocate_sbuf(line));
    ASSERT_TRUE(run_pass(line, "allocate_psum"));
    expect_disjoint(line, MemoryKind::kSbuf);
    expect_disjoint(line, MemoryKind::kPsum);
  }
}

}  // namespace
}  // namespace neuron_sim
