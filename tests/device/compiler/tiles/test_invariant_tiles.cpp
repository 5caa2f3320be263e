#include "device/compiler/tiles/invariant_tiles.h"

#include <algorithm>

#include "device/builder/builder.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
constexpr int64_t kKibibyte = 1024;  ///< a tile [128, 256] of fp32 in each partition

/// out[n, k] = a[k] a[k] + b[n]: in the loop of n, which is the outer one, the squares do not
/// change. Tiles are 1 KiB per partition.
struct Squares {
  int blocks = 2;           ///< values of k
  bool one_tile = false;    ///< all squares of the kernel lie in the same tile
  bool twice = false;       ///< the squares are also computed before the loop
  bool writes_a = false;    ///< the loop stores into a
  int held = 0;             ///< tiles that are loaded first and stored last
  int64_t loaded_part = 1;  ///< the loads bring that part of a square, the rest is copied

  std::shared_ptr<const Program> program(const Architecture& architecture) const {
    Builder builder("squares", architecture, TilePlacement::kAutomatic);
    const View a = builder.argument("a", {blocks, 128, 256}, kFloat);
    const View b = builder.argument("b", {3, 128, 256}, kFloat);
    const View c = builder.argument("c", {std::max(held, 1), 128, 256}, kFloat);
    const View out = builder.argument("out", {3, blocks, 128, 256}, kFloat);
    const auto tile = [&](const char* label) { return builder.sbuf(label, {128, 256}, kFloat); };
    std::vector<View> squares, holding;
    for (int k = 0; k < blocks; ++k) {
      squares.push_back(one_tile && k > 0 ? squares[0] : tile("square"));
    }
    for (int i = 0; i < held; ++i) {
      holding.push_back(tile("held"));
      builder.emit(DmaCopy{holding.back(), c.select(0, i)});
    }
    const auto square = [&](int k) {
      const View& result = squares[static_cast<size_t>(k)];
      const View x = tile("x");
      for (int64_t part = 0; part < loaded_part; ++part) {
        const int64_t columns = 256 / loaded_part;
        if (part == 0) {
          builder.emit(DmaCopy{x.slice(1, 0, columns), a.select(0, k).slice(1, 0, columns)});
        }
        const View from = x.slice(1, 0, columns);
        builder.emit(
            TensorTensor{result.slice(1, part * columns, columns), from, from, AluOp::kMultiply});
      }
      return result;
    };
    const auto store = [&](const View& to, const View& value) {
      builder.emit(DmaCopy{.dst = to, .src = value});
    };
    if (twice) {
      for (int k = 0; k < blocks; ++k) store(out.select(0, 0).select(0, k), square(k));
    }
    builder.loop(3, [&](const Affine& n) {
      const View y = tile("y");
      builder.emit(DmaCopy{y, b.select(0, n)});
      for (int k = 0; k < blocks; ++k) {
        const View sum = tile("sum");
        builder.emit(TensorTensor{sum, square(k), y, AluOp::kAdd});
        store(out.select(0, n).select(0, k), sum);
      }
      if (writes_a) store(a.select(0, 0), y);
    });
    for (int i = 0; i < held; ++i) store(c.select(0, i), holding[static_cast<size_t>(i)]);
    return builder.finish(Overflow::kSpilled);
  }
};

/// Multiplications that remain with that much SBUF for tiles; the result computes the same bytes.
int64_t products_left(const Squares& squares, int64_t kibibytes = 32) {
  const Architecture& whole = load_architecture("trn2");
  Architecture architecture = whole;
  architecture.limits.sbuf_usable = Bytes{kDescriptorBytes + kibibytes * kKibibyte};
  const auto program = squares.program(architecture);
  StraightLine line = renamed_line(*program);
  keep_invariant_tiles(line);
  const auto products =
      std::count_if(line.instructions.begin(), line.instructions.end(), [&](const auto& each) {
        const auto operands = line.operands_of(each);
        return each.instruction.type->name == std::string_view("tensor_tensor") &&
               operands[1].tile == operands[2].tile;
      });
  line.architecture = &whole;
  EXPECT_EQ(bytes_after(squares.program(whole)), bytes_after(placed(line)));
  return products;
}

TEST(InvariantTiles, AreFilledOnceByAnOuterLoopThatDoesNotChangeThem) {
  EXPECT_EQ(products_left({}), 2);
}

TEST(InvariantTiles, TheirLoadsDisappearWithThem) {
  StraightLine line = renamed_line(*Squares{}.program(load_architecture("trn2")));
  keep_invariant_tiles(line);
  const auto all = names(line);
  EXPECT_EQ(std::count(all.begin(), all.end(), "dma_copy"), 2 + 3 + 6);  // a, b, out
}

TEST(InvariantTiles, AreFilledAgainWhereTheKernelPutsOtherContentsInBetween) {
  EXPECT_EQ(products_left({.one_tile = true}), 6);
  EXPECT_EQ(products_left({.blocks = 1, .one_tile = true}), 1);
}

TEST(InvariantTiles, AreFilledAgainByAnotherStatement) {
  EXPECT_EQ(products_left({.twice = true}), 2 + 2);
}

TEST(InvariantTiles, AreFilledAgainFromTensorsThatTheProgramWrites) {
  EXPECT_EQ(products_left({.writes_a = true}), 6);
}

TEST(InvariantTiles, AreKeptAsFarAsSbufHoldsThem) {
  // Beside the squares three tiles are alive: x, y and a sum.
  EXPECT_EQ(products_left({.blocks = 8}, 11), 8);
  const int64_t some = products_left({.blocks = 8}, 8);
  EXPECT_GT(some, 8);
  EXPECT_LT(some, 3 * 8);
}

TEST(InvariantTiles, AreReloadedWhereTheProgramSpillsInAnyCase) {
  EXPECT_EQ(products_left({.held = 4}, 4), 2);
  EXPECT_EQ(products_left({.held = 4, .loaded_part = 2}, 4), 2 * 6);
}

}  // namespace
}  // namespace neuron_sim
