#include "device/analysis/place_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/analysis/dependencies.h"
#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// trn2 with that much SBUF (bytes per partition) and PSUM (banks).
Architecture with_memory(int64_t sbuf, int64_t banks) {
  Architecture architecture = load_architecture("trn2");
  architecture.limits.sbuf_usable = Bytes{sbuf};
  architecture.limits.psum_banks = banks;
  return architecture;
}

struct Sketch {
  explicit Sketch(const Architecture& architecture)
      : builder("sketch", architecture, TilePlacement::kAutomatic),
        out(builder.argument("out", {128, 1024}, kFloat)) {}
  View tile(const std::string& label, int64_t width, int ring = 1) {
    return builder.sbuf(label, {128, width}, kFloat, ring);
  }
  void set(const View& view) { builder.emit(Memset{view, 1, EngineKind::kVector}); }
  void use(const View& view) { builder.emit(DmaCopy{out.slice(1, 0, view.size(1)), view}); }
  Builder builder;
  View out;
};

std::string finish_error(Sketch& sketch) {
  try {
    sketch.builder.finish();
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    return error.what();
  }
  return "";
}

TEST(PlaceTiles, TilesShareBytesOnlyWhenTheyMust) {
  const auto addresses = [](int64_t capacity) {
    const Architecture architecture = with_memory(capacity, 8);
    Sketch sketch(architecture);
    for (int i = 0; i < 3; ++i) {
      const View tile = sketch.tile("tile", 64);
      sketch.set(tile);
      sketch.use(tile);
    }
    std::vector<int64_t> result;
    const std::shared_ptr<const Program> program = sketch.builder.finish();
    for (const Tile& tile : program->tiles) {
      if (tile.memory == MemoryKind::kSbuf) result.push_back(tile.address);
    }
    return result;
  };
  EXPECT_EQ(addresses(768), (std::vector<int64_t>{0, 256, 512}));
  EXPECT_EQ(addresses(767), (std::vector<int64_t>{0, 256, 0}));
  EXPECT_EQ(addresses(256), (std::vector<int64_t>{0, 0, 0}));
}

TEST(PlaceTiles, AWriteWaitsForTheReadOfTheTileItTakesTheBytesOf) {
  for (const int64_t capacity : {256, 512}) {
    const Architecture architecture = with_memory(capacity, 8);
    Sketch sketch(architecture);
    const View first = sketch.tile("first", 64), second = sketch.tile("second", 64);
    sketch.set(first);
    sketch.use(first);
    sketch.set(second);
    sketch.use(second);
    const auto waits = dependencies(*sketch.builder.finish());
    const auto& of_second = waits.at(2);
    const bool waits_for_the_read =
        std::find(of_second.begin(), of_second.end(), 1) != of_second.end();
    EXPECT_EQ(waits_for_the_read, capacity == 256);
  }
}

TEST(PlaceTiles, ATileFromOutsideOfALoopLivesAsLongAsTheLoop) {
  const auto error = [](bool inside) {
    const Architecture architecture = with_memory(512, 8);
    Sketch sketch(architecture);
    View before = sketch.tile("before", 64);
    sketch.builder.set_source_line("kernel.py:4");
    sketch.builder.open_loop(2);
    if (inside) before = sketch.tile("within", 64);
    sketch.set(before);
    sketch.use(before);
    const View later = sketch.tile("later", 64, 2);
    sketch.set(later.turn(0));
    sketch.use(later.turn(0));
    sketch.builder.close_loop();
    return finish_error(sketch);
  };
  EXPECT_EQ(error(true), "");
  EXPECT_EQ(error(false),
            "out of memory in sbuf: the tiles of kernel 'sketch' that are live at 'memset' "
            "(kernel.py:4) need 768 bytes per partition, trn2 has 512.\n"
            "  tile    shape      dtype    bytes  count  sum  lines        made at\n"
            "  later   [128, 64]  float32    256      2  512  4            kernel.py:4\n"
            "  before  [128, 64]  float32    256      1  256  kernel.py:4\n"
            "  sum: 768 of 512 bytes per partition\n"
            "  at kernel.py:4");
}

TEST(PlaceTiles, ATileReadBehindItsLoopLivesUntilThen) {
  const auto error = [](bool behind) {
    const Architecture architecture = with_memory(256, 8);
    Sketch sketch(architecture);
    sketch.builder.open_loop(2);
    const View last = sketch.tile("last", 64);
    sketch.set(last);
    sketch.use(last);
    const View other = sketch.tile("other", 64);
    sketch.set(other);
    sketch.builder.close_loop();
    if (behind) sketch.use(last);
    return finish_error(sketch);
  };
  EXPECT_EQ(error(false), "");
  EXPECT_EQ(error(true),
            "out of memory in sbuf: the tiles of kernel 'sketch' that are live at 'memset' need "
            "512 bytes per partition, trn2 has 256.\n"
            "  tile   shape      dtype    bytes  count  sum\n"
            "  last   [128, 64]  float32    256      1  256\n"
            "  other  [128, 64]  float32    256      1  256\n"
            "  sum: 512 of 256 bytes per partition");
}

TEST(PlaceTiles, PsumIsGivenInWholeBanks) {
  const auto error = [](int tiles) {
    const Architecture& architecture = load_architecture("trn2");
    Sketch sketch(architecture);
    std::vector<View> sums;
    for (int i = 0; i < tiles; ++i) {
      sums.push_back(sketch.builder.psum("sum", {128, i == 0 ? 513 : 1}));
      sketch.set(sums.back());
    }
    const View copy = sketch.tile("copy", 1);
    for (const View& sum : sums) sketch.builder.emit(TensorCopy{copy, sum.slice(1, 0, 1)});
    return finish_error(sketch);
  };
  EXPECT_EQ(error(7), "");
  const std::string message = error(8);
  EXPECT_EQ(message.find("out of memory in psum: the tiles of kernel 'sketch' that are live at "
                         "'memset' need 18432 bytes per partition, trn2 has 16384.\n"
                         "  tile  shape       dtype    bytes  count    sum\n"
                         "  sum   [128, 1]    float32   2048      7  14336\n"
                         "  sum   [128, 513]  float32   4096      1   4096\n"
                         "  sum: 18432 of 16384 bytes per partition"),
            0U)
      << message;
}

TEST(PlaceTiles, LargerTilesGoFirstWhereTheOrderOfUseLeavesHoles) {
  const Architecture architecture = with_memory(768, 8);
  Sketch sketch(architecture);
  const View a = sketch.tile("a", 64), b = sketch.tile("b", 64), c = sketch.tile("c", 64);
  const View wide = sketch.tile("wide", 128);
  for (const View& tile : {a, b, c}) sketch.set(tile);
  sketch.use(a);
  sketch.use(c);  // a hole of 256 bytes on each side of b
  sketch.set(wide);
  sketch.use(wide);
  sketch.use(b);
  const auto program = sketch.builder.finish();
  EXPECT_EQ(program->sbuf_peak, 768);
}

TEST(PlaceTiles, TilesPlacedByHandKeepTheirBytes) {
  const auto error = [](int64_t width) {
    const Architecture architecture = with_memory(1024, 8);
    Sketch sketch(architecture);
    const View fixed = sketch.builder.place(MemoryKind::kSbuf, "fixed", {128, 64}, kFloat, 128);
    sketch.set(fixed);
    const View tile = sketch.tile("tile", width);
    sketch.set(tile);
    const std::string message = finish_error(sketch);
    return message;
  };
  EXPECT_EQ(error(160), "");
  EXPECT_EQ(error(176),
            "out of memory in sbuf: the tiles of kernel 'sketch' that are live at 'memset' need "
            "960 bytes per partition, trn2 has 1024 but not in one piece.\n"
            "  tile  shape       dtype    bytes  count  sum\n"
            "  tile  [128, 176]  float32    704      1  704\n"
            "  placed by hand: 256\n"
            "  sum: 960 of 1024 bytes per partition");
}

TEST(PlaceTiles, TilesThatNothingTouchesTakeNoSpaceAndTieNoOthersTogether) {
  const Architecture architecture = with_memory(256, 8);
  Sketch sketch(architecture);
  sketch.tile("unused", 64);
  const View left = sketch.tile("left", 32), right = sketch.tile("right", 32);
  sketch.set(left);
  sketch.set(right);
  const auto program = sketch.builder.finish();
  const auto group = [&](const View& view) {
    return program->tiles[static_cast<size_t>(view.tile())].hazard_group;
  };
  EXPECT_NE(group(left), group(right));
}

}  // namespace
}  // namespace neuron_sim
