#include <gtest/gtest.h>

#include <set>

#include "device/builder/builder.h"
#include "device/compiler/back_end/allocate.h"
#include "device/compiler/middle_end/rename_buffers.h"
#include "device/compiler/passes.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
const Architecture& trn2() { return load_architecture("trn2"); }
int64_t capacity() { return trn2().limits.sbuf_usable.count; }

/// Small tiles, some of which live to the end, then one that leaves room for little else.
std::shared_ptr<const Program> fragmented(int64_t large_bytes) {
  Builder builder("fragmented", trn2());
  const View out = builder.argument("out", {128, 1}, kFloat);
  const int64_t small = 3072;
  const View kept = builder.sbuf("kept", {128, small / 4}, kFloat);
  builder.scope([&] {
    builder.loop(100, [&](const Affine& i) {
      const View tile = builder.sbuf("small", {128, small / 4}, kFloat);
      builder.emit(Memset{tile, 2, EngineKind::kVector});
      builder.emit(TensorCopy{kept, tile, EngineKind::kVector});
      (void)i;
    });
  });
  const View large = builder.sbuf("large", {128, large_bytes / 4}, kFloat);
  builder.emit(Memset{large, 3, EngineKind::kVector});
  builder.emit(TensorCopy{large.slice(1, 0, 1), kept.slice(1, 0, 1), EngineKind::kVector});
  builder.emit(DmaCopy{.dst = out, .src = large.slice(1, 0, 1)});
  return builder.finish();
}

StraightLine renamed(const Program& program) {
  StraightLine line = *unroll(program).line;
  run_pass(line, "rename_buffers");
  return line;
}

void expect_disjoint(const StraightLine& line) {
  const std::vector<Lifetime> lives = lifetimes(line);
  for (size_t a = 0; a < line.tiles.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const Tile& x = line.tiles[a];
      const Tile& y = line.tiles[b];
      if (x.memory != MemoryKind::kSbuf || y.memory != x.memory || (x.placed && y.placed)) continue;
      if (!lives[a].used() || !lives[b].used()) continue;
      const bool bytes = x.address < y.address + y.bytes && y.address < x.address + x.bytes;
      const bool times = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
      EXPECT_FALSE(bytes && (times || x.placed || y.placed)) << x.label << " and " << y.label;
    }
  }
}

TEST(RotateSbuf, ALargeTileHasAPlaceWhereTheOrderOfTheProgramLeavesNone) {
  const auto program = fragmented(capacity() - 4096);
  StraightLine line = renamed(*program);
  EXPECT_FALSE(run_pass(line, "allocate_sbuf"));
  ASSERT_TRUE(rotate_sbuf(line));
  expect_disjoint(line);
  EXPECT_EQ(bytes_after(program), bytes_after(lower(std::move(line))));
}

TEST(RotateSbuf, WhatDoesNotFitLeavesEverythingInPlace) {
  Builder builder("full", trn2());
  const View placed = builder.place(MemoryKind::kSbuf, "placed", {1, 16}, kFloat, capacity() - 64);
  const View tile = builder.sbuf("tile", {1, (capacity() / 64 - 1) * 16}, kFloat);
  builder.emit(Memset{tile, 1, EngineKind::kVector});
  builder.emit(Memset{placed, 1, EngineKind::kVector});
  StraightLine line = renamed(*builder.finish());
  EXPECT_TRUE(rotate_sbuf(line));  // exactly full
  line.tiles[static_cast<size_t>(tile.tile())].bytes += 4;
  const StraightLine before = line;
  EXPECT_FALSE(rotate_sbuf(line));
  for (size_t i = 0; i < before.tiles.size(); ++i) {
    EXPECT_EQ(line.tiles[i].address, before.tiles[i].address);
  }
}

TEST(RotateSbuf, SmallTilesTakeTurnsInAllOfTheSpace) {
  StraightLine line = renamed(*fragmented(4096));
  ASSERT_TRUE(rotate_sbuf(line));
  std::set<int64_t> places;
  for (const Tile& tile : line.tiles) {
    if (tile.label == "small") places.insert(tile.address);
  }
  EXPECT_GE(std::ssize(places), capacity() / 3072 - 1);
}

TEST(RotateSbuf, NoTwoTilesInUseShareBytesInGeneratedProgramsAndTheirBytesStay) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto program = RandomProgram(seed, trn2(), {}).build();
    StraightLine line = renamed(*program);
    ASSERT_TRUE(rotate_sbuf(line));
    ASSERT_TRUE(run_pass(line, "allocate_psum"));
    expect_disjoint(line);
    EXPECT_EQ(bytes_after(program), bytes_after(lower(std::move(line)))) << seed;
  }
}

TEST(RotateSbuf, TheCompilerKeepsItsPassesWithIt) {
  PassSettings settings{{"rename_buffers", 1}, {"schedule", 1}};
  const auto program = fragmented(capacity() - 4096);
  EXPECT_EQ(compile(program, settings).skipped_passes,
            (std::vector<std::string>{"rename_buffers"}));
  settings.set("place_large_first", 1);
  const Compiled compiled = compile(program, settings);
  EXPECT_TRUE(compiled.skipped_passes.empty());
  EXPECT_EQ(bytes_after(program), bytes_after(compiled.program));
}

}  // namespace
}  // namespace neuron_sim
