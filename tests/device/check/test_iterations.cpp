#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// A loop over blocks of `tensor` [9, 128, 8] with a tile; block i + 1 of it is written.
struct BlockLoop {
  Builder builder{"blocks", trn2()};
  View tensor = builder.argument("tensor", {9, 128, 8}, Dtype::kFloat32);
  View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);

  /// Every iteration loads block i + `from`, and stores block i + 1.
  std::vector<Finding> run(int64_t from, IterationMark::Kind kind, bool marked = true) {
    builder.loop(8, [&](const Affine& i) {
      builder.set_source_line("k.py:4");
      builder.emit(DmaCopy{tile, tensor.select(0, i + from)});
      builder.set_source_line("k.py:5");
      builder.emit(DmaCopy{tensor.select(0, i + 1), tile});
    });
    std::vector<IterationMark> marks;
    if (marked) marks.push_back(parallel(kind));
    return check(builder, 1, marks);
  }
};

TEST(ParallelIterations, ThatReadWhatTheOneBeforeWroteDepend) {
  const auto found = BlockLoop().run(0, kLoop);
  ASSERT_EQ(rules_of(found), Rules{"carried-dependency"});
  EXPECT_EQ(found[0].index, std::vector<int64_t>{1});
  EXPECT_EQ(found[0].source_line, "k.py:4");
  EXPECT_EQ(found[0].other_line, "k.py:5");
  EXPECT_NE(found[0].message.find("loop.py:1"), std::string::npos) << found[0].message;
}

TEST(ParallelIterations, ThatReadTheirOwnBlockAreNone) {
  EXPECT_TRUE(BlockLoop().run(1, kLoop).empty());
}

TEST(ParallelIterations, OfASequentialLoopAreNone) {
  EXPECT_TRUE(BlockLoop().run(0, kLoop, false).empty());
}

TEST(GridInstances, ThatReadWhatAnotherOneWritesRace) {
  const auto found = BlockLoop().run(0, kGrid);
  ASSERT_EQ(rules_of(found), Rules{"instance-race"});
  EXPECT_EQ(found[0].tile, "tensor");
}

TEST(GridInstances, WithBlocksOfTheirOwnAreNone) { EXPECT_TRUE(BlockLoop().run(1, kGrid).empty()); }

/// Instances that all store to `step` * i of `out`.
std::vector<Finding> grid_stores(int64_t step, bool adds = false) {
  Builder builder("grid", trn2());
  const View out = builder.argument("out", {8, 128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.loop(8, [&](const Affine& i) {
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{.dst = out.select(0, i * step), .src = tile, .dst_rmw_add = adds});
  });
  return check(builder, 1, {parallel(kGrid)});
}

TEST(GridInstances, ThatWriteTheSameBytesRace) {
  EXPECT_EQ(rules_of(grid_stores(0)), Rules{"instance-race"});
  EXPECT_TRUE(grid_stores(1).empty());
}

TEST(GridInstances, MayAddToTheSameBytes) { EXPECT_TRUE(grid_stores(0, true).empty()); }

TEST(GridInstances, HaveTilesOfTheirOwn) {
  // SBUF of one instance is not that of another, although the program places both alike.
  Builder builder("tiles", trn2());
  const View out = builder.argument("out", {2, 128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.loop(2, [&](const Affine& i) {
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{out.select(0, i), tile});
  });
  EXPECT_TRUE(check(builder, 0, {parallel(kGrid)}).empty());
}

TEST(GridInstances, ThatWriteWhatAnotherOneReadsRace) {
  Builder builder("write after read", trn2());
  const View tensor = builder.argument("tensor", {9, 128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.loop(8, [&](const Affine& i) {
    builder.emit(DmaCopy{tile, tensor.select(0, i + 1)});
    builder.set_source_line("k.py:6");
    builder.emit(DmaCopy{tensor.select(0, i), tile});
  });
  const auto found = check(builder, 1, {parallel(kGrid)});
  ASSERT_EQ(rules_of(found), Rules{"instance-race"});
  EXPECT_EQ(found[0].source_line, "k.py:6");
}

/// acc (+)= tile in every iteration, in one instruction or through a copy.
std::vector<Finding> sums(bool in_one, AluOp op = AluOp::kAdd) {
  Builder builder("sums", trn2());
  const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View acc = builder.sbuf("acc", {128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  const View sum = builder.sbuf("sum", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{acc, 0});
  const auto first = static_cast<uint32_t>(builder.instruction_count());
  builder.loop(4, [&](const Affine&) {
    builder.emit(Memset{tile, 1});
    builder.emit(TensorTensor{in_one ? acc : sum, acc, tile, op});
    if (!in_one) builder.emit(TensorCopy{acc, sum});
  });
  const auto end = static_cast<uint32_t>(builder.instruction_count());
  builder.emit(DmaCopy{out, acc});
  return check(builder, 0, {parallel(kLoop, first, end)});
}

TEST(ParallelIterations, MayFormASum) {
  EXPECT_TRUE(sums(true).empty());
  EXPECT_TRUE(sums(true, AluOp::kMaximum).empty());
}

TEST(ParallelIterations, ThatHandAValueOnAreNoted) {
  EXPECT_EQ(rules_of(sums(false)), Rules{"carried-value"});
  EXPECT_TRUE(entry_of(Rule::kCarriedValue).is_note);
}

TEST(ParallelIterations, OfAnUnrolledLoopDependAsThoseOfALoop) {
  for (const int64_t from : {0, 1}) {
    BlockLoop loop;
    std::vector<IterationMark> marks;
    for (int64_t i = 0; i < 4; ++i) {
      const auto first = static_cast<uint32_t>(loop.builder.instruction_count());
      loop.builder.set_source_line("k.py:4");
      loop.builder.emit(DmaCopy{loop.tile, loop.tensor.select(0, i + from)});
      loop.builder.emit(DmaCopy{loop.tensor.select(0, i + 1), loop.tile});
      marks.push_back(unrolled(kLoop, first, first + 2, i));
    }
    EXPECT_EQ(rules_of(check(loop.builder, 1, marks)),
              from == 0 ? Rules{"carried-dependency"} : Rules{});
  }
}

TEST(ParallelIterations, OfTwoExecutionsOfALoopHaveAnOrder) {
  BlockLoop loop;
  std::vector<IterationMark> marks;
  for (int64_t i = 0; i < 2; ++i) {
    const auto first = static_cast<uint32_t>(loop.builder.instruction_count());
    loop.builder.emit(DmaCopy{loop.tile, loop.tensor.select(0, i)});
    loop.builder.emit(DmaCopy{loop.tensor.select(0, i + 1), loop.tile});
    marks.push_back(unrolled(kLoop, first, first + 2, i, /*group=*/i));
  }
  EXPECT_TRUE(check(loop.builder, 1, marks).empty());
}

TEST(ParallelIterations, InsideOfASequentialLoopMayReadWhatEarlierOnesWrote) {
  for (const bool outer_parallel : {true, false}) {
    Builder builder("nested", trn2());
    const View tensor = builder.argument("tensor", {9, 8, 128, 8}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    builder.loop(8, [&](const Affine& i) {
      builder.loop(8, [&](const Affine& j) {
        builder.emit(DmaCopy{tile, tensor.select(0, i).select(0, j)});
        builder.emit(DmaCopy{tensor.select(0, i + 1).select(0, j), tile});
      });
    });
    IterationMark mark = parallel(kLoop);
    mark.level = outer_parallel ? 0 : 1;
    EXPECT_EQ(rules_of(check(builder, 1, {mark})),
              outer_parallel ? Rules{"carried-dependency"} : Rules{});
  }
}

}  // namespace
}  // namespace neuron_sim
