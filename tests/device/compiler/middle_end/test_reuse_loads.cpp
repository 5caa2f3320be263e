#include "device/compiler/middle_end/reuse_loads.h"

#include "device/builder/builder.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

/// out[m, n] = a[m] + b[n] by tiles of [128, columns], loads inside both loops; `outer` repeats all
/// of it.
struct Sums {
  int64_t rows = 3, tiles = 4, columns = 64, outer = 1;
  bool writes_input = false;  ///< the kernel stores to a as well

  std::shared_ptr<const Program> program() const {
    Builder builder("sums", load_architecture("trn2"));
    const View a = builder.argument("a", {rows, 128, columns}, Dtype::kFloat32);
    const View b = builder.argument("b", {tiles, 128, columns}, Dtype::kFloat32);
    const View out = builder.argument("out", {rows, tiles, 128, columns}, Dtype::kFloat32);
    builder.loop(outer, [&](const Affine&) {
      builder.loop(rows, [&](const Affine& m) {
        builder.loop(tiles, [&](const Affine& n) {
          const View x = builder.sbuf("x", {128, columns}, Dtype::kFloat32);
          const View y = builder.sbuf("y", {128, columns}, Dtype::kFloat32);
          const View z = builder.sbuf("z", {128, columns}, Dtype::kFloat32);
          builder.emit(DmaCopy{.dst = x, .src = a.select(0, m)});
          builder.emit(DmaCopy{.dst = y, .src = b.select(0, n)});
          builder.emit(TensorTensor{.dst = z, .data1 = x, .data2 = y, .op = AluOp::kAdd});
          builder.emit(DmaCopy{.dst = out.select(0, m).select(0, n), .src = z});
          if (writes_input) builder.emit(DmaCopy{.dst = a.select(0, m), .src = z});
        });
      });
    });
    return builder.finish();
  }
};

struct Loads {
  int64_t a = 0, b = 0;
  bool operator==(const Loads&) const = default;
};
void PrintTo(const Loads& loads, std::ostream* out) { *out << loads.a << " and " << loads.b; }

Loads loads_of(const StraightLine& line) {
  Loads loads;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kDmaCopy) continue;
    const StraightOperand& source = line.operands_of(instance)[1];
    if (source.memory == MemoryKind::kHbm)
      ++(line.tile_of(source).argument == 0 ? loads.a : loads.b);
  }
  return loads;
}

Loads loads_left(const Sums& sums) {
  const auto program = sums.program();
  StraightLine line = renamed_line(*program);
  run_pass(line, "reuse_loads");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  return loads_of(line);
}

TEST(ReuseLoads, ALoadThatItsLoopsDoNotChangeIsMadeOnce) {
  EXPECT_EQ(loads_left(Sums{}), (Loads{3, 4}));
  EXPECT_EQ(loads_left(Sums{.outer = 2}), (Loads{3, 4}));
}

TEST(ReuseLoads, AsManyTilesAreKeptAsTheRoomHolds) {
  // Alive at a time when all tiles of b are kept: x, four of b, z, of 64 fp32 elements each. One
  // that is not kept needs a place beside those that are, and is loaded for every row.
  const Sums sums;
  const int64_t tile = sums.columns * 4, room = (1 + sums.tiles + 1) * tile;
  const std::pair<int64_t, int64_t> cases[] = {// room, kept tiles of b
                                               {room, 4},
                                               {room - 1, 2},
                                               {room - tile, 2},
                                               {room - tile - 1, 1},
                                               {room - 3 * tile, 0}};
  for (const auto& [bytes, kept] : cases) {
    const auto program = sums.program();
    StraightLine line = renamed_line(*program);
    reuse_loads(line, bytes);
    EXPECT_EQ(loads_of(line), (Loads{3, kept + (sums.tiles - kept) * sums.rows})) << bytes;
    EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  }
}

TEST(ReuseLoads, ATileThatIsNotKeptOverAllLoopsIsKeptOverInnerOnes) {
  // Room for x, y and z alone: x stays over the loop over tiles, nothing over the outer ones.
  const Sums sums{.outer = 2};
  const int64_t room = 3 * sums.columns * 4;
  for (const int64_t bytes : {room, room - 1}) {
    StraightLine line = renamed_line(*sums.program());
    reuse_loads(line, bytes);
    EXPECT_EQ(loads_of(line), bytes == room ? (Loads{6, 24}) : (Loads{24, 24}));
  }
}

TEST(ReuseLoads, WhatAnInnerLoopLoadsAgainIsKeptBeforeWhatAnOuterLoopDoes) {
  // out[m, n] = a[m, k] + b[k, n], k last. The loop over n loads two tiles of a again, the loop
  // over m four of b. Alive at a time when those of a are kept: both, one of b, and the sum.
  Builder builder("products", load_architecture("trn2"));
  const View a = builder.argument("a", {2, 2, 128, 64}, Dtype::kFloat32);
  const View b = builder.argument("b", {2, 2, 128, 64}, Dtype::kFloat32);
  const View out = builder.argument("out", {2, 2, 128, 64}, Dtype::kFloat32);
  builder.loop(2, [&](const Affine& m) {
    builder.loop(2, [&](const Affine& n) {
      builder.loop(2, [&](const Affine& k) {
        const View x = builder.sbuf("x", {128, 64}, Dtype::kFloat32);
        const View y = builder.sbuf("y", {128, 64}, Dtype::kFloat32);
        const View z = builder.sbuf("z", {128, 64}, Dtype::kFloat32);
        builder.emit(DmaCopy{.dst = y, .src = b.select(0, k).select(0, n)});
        builder.emit(DmaCopy{.dst = x, .src = a.select(0, m).select(0, k)});
        builder.emit(TensorTensor{.dst = z, .data1 = x, .data2 = y, .op = AluOp::kAdd});
        builder.emit(DmaCopy{.dst = out.select(0, m).select(0, n), .src = z});
      });
    });
  });
  const auto program = builder.finish();
  for (const int64_t room : {4 * 256, 4 * 256 - 1}) {
    StraightLine line = renamed_line(*program);
    reuse_loads(line, room);
    EXPECT_EQ(loads_of(line), room == 4 * 256 ? (Loads{4, 8}) : (Loads{8, 8}));
    EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  }
}

TEST(ReuseLoads, TilesThatAreLoadedInTimeNeedRoomFromWhereTheirLoadsAreIssued) {
  // The transfers of an iteration take less time than one load: all loads are issued at the start.
  const Sums sums;
  const int64_t tile = sums.columns * 4, all = (3 + 12 + 1) * tile;
  for (const int64_t bytes : {all, 4 * tile}) {
    StraightLine line = renamed_line(*sums.program());
    reuse_loads(line, bytes, true);
    EXPECT_EQ(loads_of(line), bytes == all ? (Loads{3, 4}) : (Loads{12, 12}));
  }
}

TEST(ReuseLoads, ATensorThatTheKernelWritesIsLoadedAgain) {
  EXPECT_EQ(loads_left(Sums{.writes_input = true}), (Loads{12, 4}));
}

TEST(ReuseLoads, TheLoadThatComesFirstIsKeptWhicheverStatementItIsOf) {
  // In the first trip the inner loop loads row 1, before the outer loop's own load of it.
  Builder builder("rows", load_architecture("trn2"));
  const View in = builder.argument("in", {2, 128, 8}, Dtype::kFloat32);
  const View out = builder.argument("out", {2, 2, 128, 8}, Dtype::kFloat32);
  builder.loop(2, [&](const Affine& i) {
    const View own = builder.sbuf("own", {128, 8}, Dtype::kFloat32);
    builder.emit(DmaCopy{.dst = own, .src = in.select(0, i)});
    builder.loop(2, [&](const Affine& j) {
      const View other = builder.sbuf("other", {128, 8}, Dtype::kFloat32);
      const View sum = builder.sbuf("sum", {128, 8}, Dtype::kFloat32);
      builder.emit(DmaCopy{.dst = other, .src = in.select(0, j)});
      builder.emit(TensorTensor{.dst = sum, .data1 = own, .data2 = other, .op = AluOp::kAdd});
      builder.emit(DmaCopy{.dst = out.select(0, i).select(0, j), .src = sum});
    });
  });
  const std::shared_ptr<const Program> program = builder.finish();
  StraightLine line = renamed_line(*program);
  run_pass(line, "reuse_loads");
  EXPECT_EQ(instructions_named(*placed(line), "dma_copy").size(), 2U + 4U);
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
}

TEST(ReuseLoads, ATileThatSbufDoesNotHoldIsLoadedAgain) {
  // Alive at a time in program order: the kept tiles, x, and z.
  const int64_t columns = 512, bytes = columns * 4;
  const int64_t room = load_architecture("trn2").limits.sbuf_usable.count - kDescriptorBytes;
  const int64_t fit = room / bytes - 2;
  EXPECT_EQ(loads_left(Sums{.rows = 2, .tiles = fit, .columns = columns}), (Loads{2, fit}));
  const Sums more{.rows = 2, .tiles = fit + 1, .columns = columns};
  EXPECT_EQ(loads_left(more), (Loads{2, fit + 1 + 1}));
}

TEST(ReuseLoads, LoadsOfOtherStatementsShareTheirTiles) {
  Builder builder("twice", load_architecture("trn2"));
  const View in = builder.argument("in", {128, 8}, Dtype::kFloat32);
  const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View x = builder.sbuf("x", {128, 8}, Dtype::kFloat32);
  const View y = builder.sbuf("y", {128, 8}, Dtype::kFloat32);
  const View z = builder.sbuf("z", {128, 8}, Dtype::kFloat32);
  builder.emit(DmaCopy{.dst = x, .src = in});
  builder.emit(DmaCopy{.dst = y, .src = in});
  builder.emit(TensorTensor{.dst = z, .data1 = x, .data2 = y, .op = AluOp::kMultiply});
  builder.emit(DmaCopy{.dst = out, .src = z});
  const auto program = builder.finish();
  StraightLine line = renamed_line(*program);
  run_pass(line, "reuse_loads");
  EXPECT_EQ(bytes_after(program), bytes_after(placed(line)));
  EXPECT_EQ(line.instructions.size(), 3U);
}

}  // namespace
}  // namespace neuron_sim
