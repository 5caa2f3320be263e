#include "device/compiler/middle_end/rename_buffers.h"

#include <set>

#include "device/compiler/passes.h"
#include "tests/device/compiler/compare_runs.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
const Architecture& trn2() { return load_architecture("trn2"); }

StraightLine renamed(Builder& builder, const std::vector<TileId>& undefined = {}) {
  StraightLine line = *unroll(*builder.finish()).line;
  run_pass(line, "rename_buffers", {}, undefined);
  return line;
}

/// Tiles that operand `index` of the instances of that name uses, in program order.
std::vector<TileId> tiles_of(const StraightLine& line, std::string_view name, size_t index) {
  std::vector<TileId> tiles;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type->name != name) continue;
    tiles.push_back(line.operands_of(instance)[index].tile);
  }
  return tiles;
}

size_t distinct(const std::vector<TileId>& tiles) {
  return std::set<TileId>(tiles.begin(), tiles.end()).size();
}

TEST(RenameBuffers, EveryIterationGetsTilesOfItsOwn) {
  Builder builder("iterations", trn2());
  const View in = builder.argument("in", {5, 128, 8}, kFloat);
  const View out = builder.argument("out", {5, 128, 8}, kFloat);
  const View tile = builder.sbuf("tile", {128, 8}, kFloat);
  builder.loop(5, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = tile, .src = in.select(0, i)});
    builder.emit(DmaCopy{.dst = out.select(0, i), .src = tile});
  });
  const StraightLine line = renamed(builder);
  std::vector<TileId> written, read;
  for (size_t i = 0; i < line.instructions.size(); i += 2) {
    written.push_back(line.operands_of(line.instructions[i])[0].tile);
    read.push_back(line.operands_of(line.instructions[i + 1])[1].tile);
  }
  EXPECT_EQ(distinct(written), 5U);
  EXPECT_EQ(written, read);
  EXPECT_EQ(written.front(), tile.tile());
  for (const TileId version : written) {
    EXPECT_EQ(line.version_of[static_cast<size_t>(version)], tile.tile());
  }
}

TEST(RenameBuffers, ATileThatIsSetWholeIsNotHeldByItsFirstValueWhereItWasOverwritten) {
  const auto versions = [](int64_t columns) {
    Builder builder("blocks", trn2());
    const View in = builder.argument("in", {5, 128, 8}, kFloat);
    const View out = builder.argument("out", {5, 128, 8}, kFloat);
    const View tile = builder.sbuf("tile", {128, 16}, kFloat);
    builder.emit(Memset{tile, 0});
    builder.loop(5, [&](const Affine& i) {
      const View block = tile.slice(1, 4, columns);
      builder.emit(DmaCopy{.dst = block, .src = in.select(0, i).slice(1, 0, columns)});
      builder.emit(DmaCopy{.dst = out.select(0, i), .src = tile.slice(1, 4, 8)});
    });
    const StraightLine line = renamed(builder);
    std::vector<TileId> written;
    for (size_t i = 1; i < line.instructions.size(); i += 2) {
      written.push_back(line.operands_of(line.instructions[i])[0].tile);
    }
    return distinct(written);
  };
  EXPECT_EQ(versions(8), 5U);
  EXPECT_EQ(versions(7), 1U);  // every store reads a column of the first value
}

TEST(RenameBuffers, ASumIsOneVersionAndTheNextSumAnother) {
  Builder builder("sums", trn2());
  const View a = builder.sbuf("a", {128, 128}, kFloat), sum = builder.psum("sum", {128, 128});
  const View result = builder.sbuf("result", {128, 128}, kFloat);
  builder.emit(Memset{a, 1});
  builder.loop(3, [&](const Affine&) {
    builder.emit(NcMatmul{.dst = sum, .stationary = a, .moving = a});
    builder.emit(NcMatmul{.dst = sum, .stationary = a, .moving = a, .accumulate = true});
    builder.emit(TensorCopy{result, sum});
  });
  const std::vector<TileId> tiles = tiles_of(renamed(builder), "nc_matmul", 0);
  ASSERT_EQ(tiles.size(), 6U);
  EXPECT_EQ(distinct(tiles), 3U);
  for (size_t i = 0; i < 6; i += 2) EXPECT_EQ(tiles[i], tiles[i + 1]);
}

TEST(RenameBuffers, ATileFilledPieceByPieceIsOneVersion) {
  Builder builder("pieces", trn2());
  const View tile = builder.sbuf("tile", {128, 32}, kFloat);
  const View result = builder.sbuf("result", {128, 32}, kFloat);
  builder.loop(2, [&](const Affine&) {
    builder.loop(4, [&](const Affine& j) { builder.emit(Memset{tile.slice(1, j * 8, 8), 1}); });
    builder.emit(TensorCopy{result, tile});
  });
  const std::vector<TileId> tiles = tiles_of(renamed(builder), "memset", 0);
  EXPECT_EQ(distinct({tiles.begin(), tiles.begin() + 4}), 1U);
  EXPECT_EQ(distinct({tiles.begin() + 4, tiles.end()}), 1U);
  EXPECT_NE(tiles[0], tiles[4]);
}

TEST(RenameBuffers, ValuesThatAreReadLaterKeepTheirTile) {
  Builder builder("later", trn2());
  const View tile = builder.sbuf("tile", {128, 16}, kFloat);
  const View result = builder.sbuf("result", {128, 16}, kFloat);
  builder.emit(Memset{tile, 1});
  builder.emit(TensorCopy{result, tile});
  builder.emit(Memset{tile.slice(1, 0, 8), 2});  // the other half is still needed
  builder.emit(TensorCopy{result, tile});
  EXPECT_EQ(distinct(tiles_of(renamed(builder), "memset", 0)), 1U);

  Builder whole("whole", trn2());
  const View again = whole.sbuf("tile", {128, 16}, kFloat);
  const View copy = whole.sbuf("result", {128, 16}, kFloat);
  whole.emit(Memset{again, 1});
  whole.emit(TensorCopy{copy, again});
  whole.emit(Memset{again, 2});  // nothing of the first value is needed
  whole.emit(TensorCopy{copy, again});
  EXPECT_EQ(distinct(tiles_of(renamed(whole), "memset", 0)), 2U);
}

TEST(RenameBuffers, InPlaceUpdatesStayInTheirVersion) {
  Builder builder("in place", trn2());
  const View tile = builder.sbuf("tile", {128, 16}, kFloat);
  builder.emit(Memset{tile, 1});
  builder.loop(3, [&](const Affine&) {
    builder.emit(TensorTensor{tile, tile, tile, AluOp::kAdd, EngineKind::kVector});
  });
  const StraightLine line = renamed(builder);
  EXPECT_EQ(distinct(tiles_of(line, "tensor_tensor", 0)), 1U);
  EXPECT_EQ(line.tiles.size(), unroll(*lower(line)).line->tiles.size());
}

TEST(RenameBuffers, RowsThatAnIndexLeavesOutStayInTheirVersion) {
  for (const bool skip : {true, false}) {
    Builder builder("rows", trn2());
    const View table = builder.argument("table", {11, 8}, kFloat);
    const View out = builder.argument("out", {2, 4, 8}, kFloat);
    const View rows = builder.sbuf("rows", {4, 1}, Dtype::kInt32);
    const View tile = builder.sbuf("tile", {4, 8}, kFloat);
    builder.emit(Memset{.dst = rows, .value = skip ? 11.0 : 10.0});
    builder.emit(Memset{.dst = tile, .value = 3});
    builder.emit(DmaCopy{.dst = out.select(0, 0), .src = tile});
    builder.emit(
        DmaCopy{.dst = tile, .src = table.indirect(11, 4), .index = rows, .oob_skip = skip});
    builder.emit(DmaCopy{.dst = out.select(0, 1), .src = tile});
    const auto source = builder.finish();
    const auto compiled = compile(source, {{"rename_buffers", 1}}).program;
    EXPECT_EQ(bytes_after(source), bytes_after(compiled));
    StraightLine changed = *unroll(*source).line;
    run_pass(changed, "rename_buffers");
    const TileId last = changed.operands_of(changed.instructions.back())[1].tile;
    EXPECT_EQ(last == tile.tile(), skip);
  }
}

TEST(RenameBuffers, PlacedAndUndefinedTilesAndTheirNeighboursStay) {
  Builder builder("placed", trn2());
  const View placed = builder.place(MemoryKind::kSbuf, "placed", {128, 8}, kFloat, 0);
  const View beside = builder.place(MemoryKind::kSbuf, "beside", {128, 8}, kFloat, 4096);
  View undefined, shares, result;
  builder.scope([&] {
    undefined = builder.sbuf("undefined", {128, 2048}, kFloat);  // bytes 0 to 8192
    result = builder.sbuf("result", {128, 2048}, kFloat);
    builder.loop(2, [&](const Affine&) {
      builder.emit(TensorCopy{result, undefined});
      builder.emit(Memset{undefined, 1});
      builder.emit(Memset{placed, 1});
      builder.emit(Memset{beside, 1});
    });
  });
  builder.loop(2, [&](const Affine&) { builder.emit(Memset{result, 1}); });
  const StraightLine line = renamed(builder, {undefined.tile()});
  for (const View* view : std::initializer_list<const View*>{&placed, &beside, &undefined}) {
    EXPECT_TRUE(line.tiles[static_cast<size_t>(view->tile())].placed) << view->label();
  }
  EXPECT_FALSE(line.tiles[static_cast<size_t>(result.tile())].placed);
  const std::vector<TileId> tiles = tiles_of(line, "memset", 0);
  EXPECT_EQ(std::set<TileId>(tiles.begin(), tiles.begin() + 6).size(), 3U);
  EXPECT_NE(tiles[6], tiles[7]);
}

TEST(RenameBuffers, BytesStayTheSame) {
  for (uint64_t seed = 100; seed < 160; ++seed) {
    RandomProgramOptions options{.blocks = 6, .undefined_reads = seed % 2 == 0};
    const auto program = RandomProgram(seed, trn2(), options).build();
    const Compiled compiled = compile(program, {{"rename_buffers", 1}});
    ASSERT_EQ(bytes_after(program), bytes_after(compiled.program)) << seed;
  }
}

}  // namespace
}  // namespace neuron_sim
