#include "device/isa/activation/activation.h"
#include "device/isa/activation/activation_reduce.h"
#include "device/isa/elementwise/affine_select.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// A tile of [128, 8] fp32 of which partitions [0, rows) and elements [0, columns) are loaded.
struct PartlyLoaded {
  explicit PartlyLoaded(int64_t rows, int64_t columns)
      : in(builder.argument("in", {128, 8}, Dtype::kFloat32)),
        out(builder.argument("out", {128, 8}, Dtype::kFloat32)),
        tile(builder.sbuf("tile", {128, 8}, Dtype::kFloat32)) {
    builder.set_source_line("k.py:1");
    builder.emit(DmaCopy{part(tile, rows, columns), part(in, rows, columns)});
  }
  static View part(const View& view, int64_t rows, int64_t columns) {
    return view.slice(0, 0, rows).slice(1, 0, columns);
  }
  void store(const View& source, int64_t rows = 128, int64_t columns = 8) {
    builder.set_source_line("k.py:9");
    builder.emit(DmaCopy{part(out, rows, columns), part(source, rows, columns)});
  }
  std::vector<Finding> check() {
    std::vector<Finding> found = neuron_sim::check(builder, 1);
    std::erase_if(found, [](const Finding& each) { return each.rule == Rule::kUnwrittenOutput; });
    return found;
  }

  Builder builder{"partly", trn2()};
  View in, out, tile;
};

TEST(UninitialisedReads, NameTheLastByteAndPartitionOfAStore) {
  PartlyLoaded program(127, 8);
  program.store(program.tile);
  const auto found = program.check();
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].instruction, "dma_copy");
  EXPECT_EQ(found[0].operand, "src");
  EXPECT_EQ(found[0].tile, "tile");
  EXPECT_EQ(found[0].source_line, "k.py:9");
  EXPECT_EQ(found[0].other_line, "");
  ASSERT_TRUE(found[0].place.partitions);
  EXPECT_EQ(found[0].place.partitions->begin, 127);
  EXPECT_EQ(found[0].place.partitions->end, 128);
  EXPECT_EQ(found[0].place.bytes->begin, 0);
  EXPECT_EQ(found[0].place.bytes->end, 32);
}

TEST(UninitialisedReads, AMaskedStoreOfWhatAMaskedLoadWroteIsNone) {
  PartlyLoaded program(127, 7);
  program.store(program.tile, 127, 7);
  EXPECT_TRUE(program.check().empty());
}

TEST(UninitialisedReads, OneElementTooManyIsOne) {
  PartlyLoaded program(127, 7);
  program.store(program.tile, 127, 8);
  const auto found = program.check();
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].place.bytes->begin, 28);
  EXPECT_EQ(found[0].place.partitions->end, 127);
}

TEST(UninitialisedReads, ElementwiseInstructionsPassUndefinedElementsOn) {
  for (const bool masked : {true, false}) {
    PartlyLoaded program(100, 5);
    const View sum = program.builder.sbuf("sum", {128, 8}, Dtype::kFloat32);
    const View root = program.builder.sbuf("root", {128, 8}, Dtype::kFloat32);
    program.builder.set_source_line("k.py:2");
    program.builder.emit(TensorTensor{sum, program.tile, program.tile});
    program.builder.emit(Activate{.dst = root, .data = sum, .op = Activation::kSqrt});
    masked ? program.store(root, 100, 5) : program.store(root);
    const auto found = program.check();
    if (masked) {
      EXPECT_TRUE(found.empty());
      continue;
    }
    ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
    EXPECT_EQ(found[0].tile, "root");
    EXPECT_EQ(found[0].source_line, "k.py:9");
    EXPECT_EQ(found[0].other_line, "k.py:2");  // where the bytes were read first
  }
}

TEST(UninitialisedReads, AnUndefinedScalarOfAPartitionMakesItsRowUndefined) {
  for (const int64_t rows : {127, 128}) {
    PartlyLoaded program(rows, 8);
    const View all = program.builder.sbuf("all", {128, 8}, Dtype::kFloat32);
    program.builder.emit(Memset{all, 1});
    program.builder.emit(
        TensorScalar{.dst = all, .data = all, .operand0 = program.tile.slice(1, 0, 1)});
    program.store(all);
    EXPECT_EQ(rules_of(program.check()), rows == 128 ? Rules{} : Rules{"uninitialised-read"});
  }
}

using Corner = std::array<int64_t, 2>;  // rows and columns from the first

/// Whether a tile that `emit` makes of a partly loaded one may be stored so far; if not, the
/// finding is at the instruction that made it.
template <typename Emit>
bool is_right(const Corner& loaded, const Corner& stored, Emit&& emit) {
  PartlyLoaded program(loaded[0], loaded[1]);
  program.builder.set_source_line("k.py:5");
  const View result = emit(program.builder, program.tile);
  program.store(result, stored[0], stored[1]);
  const auto found = program.check();
  if (found.empty()) return true;
  EXPECT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].source_line, "k.py:5");
  return false;
}

TEST(UninitialisedReads, AReductionDependsOnAllElementsOfItsRow) {
  const auto sum = [](Builder& builder, const View& tile) {
    const View result = builder.sbuf("sum", {128, 1}, Dtype::kFloat32);
    builder.emit(TensorReduce{.dst = result, .data = tile, .op = AluOp::kAdd});
    const View root = builder.sbuf("root", {128, 1}, Dtype::kFloat32);
    builder.emit(Activate{.dst = root, .data = result, .op = Activation::kSqrt});
    return root;
  };
  EXPECT_TRUE(is_right({128, 8}, {128, 1}, sum));
  EXPECT_FALSE(is_right({128, 7}, {128, 1}, sum));
  EXPECT_TRUE(is_right({100, 8}, {100, 1}, sum));
  EXPECT_FALSE(is_right({100, 8}, {101, 1}, sum));
}

TEST(UninitialisedReads, AReductionOfTheLastDimensionDependsOnItsOwnElements) {
  const auto sums = [](Builder& builder, const View& tile) {
    const View result = builder.sbuf("sums", {128, 2}, Dtype::kFloat32);
    const View pairs = tile.split(1, 2, 4);
    builder.emit(TensorReduce{.dst = result, .data = pairs, .op = AluOp::kAdd});
    return result;
  };
  EXPECT_TRUE(is_right({128, 4}, {128, 1}, sums));
  EXPECT_FALSE(is_right({128, 4}, {128, 2}, sums));
}

TEST(UninitialisedReads, ASumBesideAResultDependsOnItsRow) {
  const auto sum = [](Builder& builder, const View& tile) {
    const View result = builder.sbuf("sum", {128, 1}, Dtype::kFloat32);
    const View root = builder.sbuf("root", {128, 8}, Dtype::kFloat32);
    builder.emit(
        ActivationReduce{.dst = root, .data = tile, .op = Activation::kSqrt, .reduce_res = result});
    return result;
  };
  EXPECT_TRUE(is_right({100, 8}, {100, 1}, sum));
  EXPECT_FALSE(is_right({100, 8}, {101, 1}, sum));
  EXPECT_FALSE(is_right({128, 7}, {1, 1}, sum));
}

TEST(UninitialisedReads, AProductDependsOnAllRowsOfItsColumns) {
  for (const bool moves : {true, false}) {
    const auto product = [&](Builder& builder, const View& tile) {
      const View ones = builder.sbuf("ones", {128, 8}, Dtype::kFloat32);
      const View sum = builder.psum("sum", {8, 8});
      const View result = builder.sbuf("result", {8, 8}, Dtype::kFloat32);
      builder.emit(Memset{ones, 1});
      builder.emit(
          NcMatmul{.dst = sum, .stationary = moves ? ones : tile, .moving = moves ? tile : ones});
      builder.emit(TensorCopy{result, sum});
      return result;
    };
    const auto stored = [&](int64_t count) { return moves ? Corner{8, count} : Corner{count, 8}; };
    EXPECT_TRUE(is_right({128, 8}, {8, 8}, product));
    EXPECT_FALSE(is_right({127, 8}, {1, 1}, product));
    EXPECT_TRUE(is_right({128, 5}, stored(5), product));
    EXPECT_FALSE(is_right({128, 5}, stored(6), product));
  }
}

TEST(UninitialisedReads, WhatIsOverwrittenBeforeItIsUsedIsNone) {
  PartlyLoaded program(100, 8);
  const View copy = program.builder.sbuf("copy", {128, 8}, Dtype::kFloat32);
  program.builder.emit(TensorCopy{copy, program.tile});
  program.builder.emit(Memset{copy, 0});
  program.store(copy);
  EXPECT_TRUE(program.check().empty());
}

TEST(UninitialisedReads, ScratchInHbmCountsByteByByte) {
  for (const int64_t columns : {7, 8}) {
    Builder builder("scratch", trn2());
    const View out = builder.argument("out", {128, 8}, Dtype::kBfloat16);
    const View scratch = builder.scratch("scratch", {128, 8}, Dtype::kBfloat16);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kBfloat16);
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{scratch.slice(1, 0, columns), tile.slice(1, 0, columns)});
    builder.emit(DmaCopy{out, scratch});
    const auto found = check(builder, 0);
    if (columns == 8) {
      EXPECT_TRUE(found.empty());
      continue;
    }
    ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
    EXPECT_EQ(found[0].tile, "scratch");
    EXPECT_EQ(found[0].place.bytes->begin, 14);
    EXPECT_EQ(found[0].place.bytes->end, 16);
    EXPECT_FALSE(found[0].place.partitions);
  }
}

TEST(UninitialisedReads, AnOutputHoldsNothingBeforeItIsWritten) {
  for (const size_t inputs : {0, 1}) {
    Builder builder("output", trn2());
    const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    builder.emit(DmaCopy{tile, out});
    builder.emit(DmaCopy{out, tile});
    EXPECT_EQ(rules_of(check(builder, inputs)),
              inputs == 1 ? Rules{} : Rules{"uninitialised-read"});
  }
}

TEST(UninitialisedReads, TheIterationIsTheFirstThatReadsTooMuch) {
  Builder builder("iterations", trn2());
  const View out = builder.argument("out", {4, 128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 32}, Dtype::kFloat32);
  builder.emit(Memset{tile.slice(1, 0, 24), 1});
  builder.loop(4, [&](const Affine& i) {
    builder.emit(DmaCopy{out.select(0, i), tile.slice(1, i * 8, 8)});
  });
  const auto found = check(builder, 0);
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].index, std::vector<int64_t>{3});
  EXPECT_NE(found[0].message.find("in iteration [3]"), std::string::npos) << found[0].message;
}

}  // namespace
}  // namespace neuron_sim
