#include "device/compiler/batching/stack_instances.h"

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"
#include "tests/device/compiler/renamed_line.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// Members 0 .. count - 1 of the line as one instruction.
std::optional<StraightInstruction> stacked(StraightLine& line, uint32_t count, TileMerges& merges) {
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < count; ++i) members.push_back(i);
  return InstanceStack(line, false, merges).stacked(members);
}

struct StackInstances : testing::Test {
  StraightLine line() { return *unroll(*builder.finish()).line; }
  Builder builder{"stack", load_architecture("trn2")};
  TileMerges merges;
};

TEST_F(StackInstances, OperandsAtRegularDistancesGetTheMemberAsTheirOutermostDimension) {
  const View x = builder.sbuf("x", {128, 40}, kFloat), y = builder.sbuf("y", {128, 40}, kFloat);
  for (int i = 0; i < 3; ++i) {
    builder.emit(TensorCopy{y.slice(1, 5 * i, 5), x.slice(1, 12 * i, 5)});
  }
  StraightLine all = line();
  const auto one = stacked(all, 3, merges);
  ASSERT_TRUE(one);
  const WholeOperands operands = all.whole_operands_of(*one);
  EXPECT_EQ(view_of(all, operands[0]).shape(), (std::vector<int64_t>{128, 3, 5}));
  EXPECT_EQ(operands[0].free[0].stride, 20);
  EXPECT_EQ(operands[1].free[0].stride, 48);
  EXPECT_EQ(all.demands[one->instruction.demand].steps[0].elements, 15);
}

TEST_F(StackInstances, IrregularDistancesAreRefused) {
  const View x = builder.sbuf("x", {128, 40}, kFloat);
  for (const int at : {0, 5, 11}) builder.emit(Memset{x.slice(1, at, 5), 1});
  StraightLine all = line();
  EXPECT_TRUE(stacked(all, 2, merges));
  EXPECT_FALSE(stacked(all, 3, merges));
}

TEST_F(StackInstances, ResultsThatOverlapAreRefused) {
  const View x = builder.sbuf("x", {128, 40}, kFloat);
  for (int i = 0; i < 3; ++i) builder.emit(Memset{x.slice(1, 4 * i, 5), 1});
  StraightLine all = line();
  EXPECT_FALSE(stacked(all, 3, merges));
}

TEST_F(StackInstances, OtherImmediatesEnginesAndShapesAreRefused) {
  const View x = builder.sbuf("x", {128, 40}, kFloat);
  builder.emit(Memset{x.slice(1, 0, 5), 1});
  builder.emit(Memset{x.slice(1, 5, 5), 2});
  StraightLine all = line();
  EXPECT_FALSE(stacked(all, 2, merges));
  for (const bool engine : {true, false}) {
    Builder other("other", load_architecture("trn2"));
    const View y = other.sbuf("y", {128, 40}, kFloat);
    other.emit(Memset{y.slice(1, 0, 5), 1});
    other.emit(
        Memset{y.slice(1, 5, engine ? 5 : 4), 1, engine ? EngineKind::kGpSimd : EngineKind::kAuto});
    StraightLine two = *unroll(*other.finish()).line;
    EXPECT_FALSE(stacked(two, 2, merges));
  }
}

TEST_F(StackInstances, FourFreeDimensionsLeaveNoneForTheMember) {
  const View x = builder.sbuf("x", {128, 2, 16}, kFloat);
  for (int i = 0; i < 2; ++i) {
    const View three = x.select(1, i).slice(1, 0, 8).split(1, 2, 4).split(2, 2, 2);
    builder.emit(Memset{three, 1});
  }
  for (int i = 0; i < 2; ++i) {
    const View four = x.select(1, i).slice(1, 0, 16).split(1, 2, 8).split(2, 2, 4).split(3, 2, 2);
    builder.emit(Memset{four, 1});
  }
  StraightLine all = line();
  const std::vector<uint32_t> threes{0, 1}, fours{2, 3};
  InstanceStack stack(all, false, merges);
  EXPECT_TRUE(stack.stacked(threes));
  EXPECT_FALSE(stack.stacked(fours));
}

TEST_F(StackInstances, InstructionsThatTieElementsTogetherAreNotStackable) {
  EXPECT_TRUE(kTensorCopy.is_stackable);
  EXPECT_FALSE(kNcTranspose.is_stackable);
}

TEST_F(StackInstances, TilesAreMergedOnlyWhenTheirLayoutIsEqualAndNobodyElseMergedThem) {
  const View a = builder.sbuf("a", {128, 4}, kFloat), b = builder.sbuf("b", {128, 4}, kFloat);
  const View c = builder.sbuf("c", {128, 4}, kFloat), d = builder.sbuf("d", {128, 5}, kFloat);
  for (const View& tile : {a, b, c, d}) builder.emit(Memset{tile, 1});
  StraightLine all = line();
  const auto places = [&](const std::vector<View>& views) {
    std::vector<TileId> parts;
    for (const View& view : views) parts.push_back(view.tile());
    return merges.places(all, parts, false);
  };
  EXPECT_TRUE(places({a, d}).empty());
  EXPECT_TRUE(places({a, a}).empty());
  const std::vector<TilePlace> two = places({b, a});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].bytes, 16);
  EXPECT_TRUE(places({b, c}).empty());  // b is taken
  EXPECT_EQ(places({b, a})[0].tile, two[0].tile);
  merges.drop();
  EXPECT_EQ(places({b, c}).size(), 2U);
  merges.keep();
  merges.apply(all);
  const StraightOperand& moved = all.operands_of(all.instructions[2])[0];
  EXPECT_EQ(all.tile_of(moved).bytes, 32);
  EXPECT_EQ(moved.offset - all.tile_of(moved).address, 16);
}

}  // namespace
}  // namespace neuron_sim
