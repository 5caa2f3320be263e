#include "device/check/iteration_windows.h"

#include "device/isa/dma/dma_copy.h"
#include "device/operand/engine_state.h"
#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// Two instructions in a loop of 4 iterations on columns of `tile`: one writes `width` of them from
/// 8 i, the other reads 8 of them from 8 i + `shift`.
struct Columns {
  int64_t width = 8, shift = 0;
  int64_t step = 8;  ///< of the reader
  IterationMark::Kind kind = kLoop;

  void emit(Builder& builder) const {
    const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
    const View other = builder.sbuf("other", {128, 64}, Dtype::kFloat32);
    builder.emit(Memset{tile, 1});
    builder.loop(4, [&](const Affine& i) {
      builder.emit(TensorCopy{other.slice(1, i * 8, 8), tile.slice(1, i * step + shift, 8)});
      builder.emit(Memset{tile.slice(1, i * 8, width), 2});
    });
  }

  /// Whether the first tile is apart; what findings() says is compared with the whole walk.
  bool is_apart() const {
    Builder checked("columns", trn2()), builder("columns", trn2());
    emit(checked);
    emit(builder);
    const std::vector<IterationMark> marks{parallel(kind, 1)};
    const Rules rules = rules_of(check(checked, 0, marks));
    const std::shared_ptr<const Program> program = builder.finish();
    const std::vector<bool> apart = tiles_apart(*program, marks);
    EXPECT_TRUE(!apart.at(kEngineStateCount) || rules.empty());
    EXPECT_TRUE(apart.at(kEngineStateCount + 1));
    return apart.at(kEngineStateCount);
  }
};

TEST(IterationWindows, OfNeighbouringColumnsAreApart) {
  EXPECT_TRUE(Columns{}.is_apart());
  EXPECT_TRUE(Columns{.width = 7}.is_apart());
}

TEST(IterationWindows, ThatReachOneElementFurtherAreNot) {
  EXPECT_FALSE(Columns{.width = 9}.is_apart());
  EXPECT_FALSE(Columns{.shift = 1}.is_apart());
}

TEST(IterationWindows, OfAReaderThatMovesOtherwiseAreNot) {
  EXPECT_FALSE(Columns{.step = 4}.is_apart());
  EXPECT_FALSE(Columns{.step = 0}.is_apart());
}

TEST(IterationWindows, OfAGridAreApartWhateverTheyAre) {
  EXPECT_TRUE((Columns{.width = 9, .kind = kGrid}.is_apart()));
}

TEST(IterationWindows, OfAnOuterLoopDoNotFollowFromThoseOfAnInnerOne) {
  Builder builder("nest", trn2());
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.loop(2, [&](const Affine&) {
    builder.loop(4, [&](const Affine& j) { builder.emit(Memset{tile.slice(1, j * 8, 8), 2}); });
  });
  const std::shared_ptr<const Program> program = builder.finish();
  IterationMark outer = parallel(kLoop), inner = outer;
  inner.level = 1;
  EXPECT_TRUE(tiles_apart(*program, {inner}).at(kEngineStateCount));
  EXPECT_FALSE(tiles_apart(*program, {outer}).at(kEngineStateCount));
  EXPECT_FALSE(tiles_apart(*program, {inner, outer}).at(kEngineStateCount));
}

TEST(IterationWindows, OfAnUnrolledLoopAndOfHbmAreNotLookedAt) {
  Builder builder("unrolled", trn2());
  const View out = builder.argument("out", {128, 64}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 64}, Dtype::kFloat32);
  builder.emit(Memset{tile.slice(1, 0, 8), 2});
  builder.emit(DmaCopy{out.slice(1, 0, 8), tile.slice(1, 0, 8)});
  const std::shared_ptr<const Program> program = builder.finish();
  const std::vector<bool> apart =
      tiles_apart(*program, {unrolled(kLoop, 0, 1, 0), unrolled(kLoop, 1, 2, 1)});
  for (size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(apart[i],
              program->tiles[i].memory == MemoryKind::kSbuf && program->tiles[i].label != "tile");
  }
}

}  // namespace
}  // namespace neuron_sim
