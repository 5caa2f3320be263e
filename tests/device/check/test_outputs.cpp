#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// out[blocks, 128, 8], of which every iteration writes block `step` * i, columns [0, columns).
std::vector<Finding> stores(int64_t blocks, int64_t trips, int64_t step, int64_t columns) {
  Builder builder("stores", trn2());
  const View out = builder.argument("out", {blocks, 128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.set_source_line("k.py:5");
  builder.loop(trips, [&](const Affine& i) {
    builder.emit(DmaCopy{out.select(0, i * step).slice(1, 0, columns), tile.slice(1, 0, columns)});
  });
  return check(builder, 0);
}

TEST(Outputs, ThatAreCompleteAreNone) { EXPECT_TRUE(stores(4, 4, 1, 8).empty()); }

TEST(Outputs, ThatMissABlockNameItsBytes) {
  const auto found = stores(4, 3, 1, 8);
  ASSERT_EQ(rules_of(found), Rules{"unwritten-output"});
  EXPECT_EQ(found[0].tile, "out");
  EXPECT_EQ(found[0].place.bytes->begin, 3 * 128 * 32);
  EXPECT_EQ(found[0].place.bytes->end, 4 * 128 * 32);
  EXPECT_EQ(found[0].source_line, "k.py:5");
}

TEST(Outputs, ThatMissOneColumnNameItsFirstElement) {
  const auto found = stores(2, 2, 1, 7);
  ASSERT_EQ(rules_of(found), Rules{"unwritten-output"});
  EXPECT_EQ(found[0].place.bytes->begin, 28);
  EXPECT_EQ(found[0].place.bytes->end, 32);
  EXPECT_NE(found[0].message.find("1024 of the 8192 bytes"), std::string::npos);
}

TEST(Outputs, ThatNothingWritesAreFoundWithErrorsOnly) {
  Builder builder("nothing", trn2());
  builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  EXPECT_EQ(rules_of(findings(*builder.finish(), {0, {}, true})), Rules{"unwritten-output"});
}

TEST(Outputs, OfInputsNothingIsAsked) {
  Builder builder("input", trn2());
  const View in = builder.argument("in", {128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(DmaCopy{tile, in});
  builder.emit(DmaCopy{in.slice(1, 0, 2), tile.slice(1, 0, 2)});
  EXPECT_TRUE(check(builder, 1).empty());
}

TEST(Outputs, WrittenTwiceByOneInstructionNameTheBytes) {
  const auto found = stores(1, 3, 0, 8);
  ASSERT_EQ(rules_of(found), Rules{"written-twice"});
  EXPECT_EQ(found[0].index, std::vector<int64_t>{1});
  EXPECT_EQ(found[0].other_line, "k.py:5");
}

TEST(Outputs, OverwrittenInPartByTheNextIterationAreNoted) {
  for (const int64_t step : {0, 1, 32}) {
    Builder builder("halo", trn2());
    const View in = builder.argument("in", {32, 8}, Dtype::kFloat32);
    const View out = builder.argument("out", {32 + step, 8}, Dtype::kFloat32);
    builder.loop(2, [&](const Affine& i) {
      builder.emit(DmaCopy{out.slice(0, step * i, 32), in});
    });
    const Rules expected[] = {{"written-twice"}, {"overwritten-output"}, {}};
    EXPECT_EQ(rules_of(check(builder, 1)), expected[step == 32 ? 2 : step]);
  }
}

TEST(Outputs, OverwrittenByAnotherInstructionAreNoted) {
  for (const bool fill : {true, false}) {
    Builder builder("two stores", trn2());
    const View in = builder.argument("in", {128, 8}, Dtype::kFloat32);
    const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    if (fill) {
      builder.emit(Memset{tile, 0});
    } else {
      builder.emit(DmaCopy{tile, in});
    }
    builder.set_source_line("k.py:3");
    builder.emit(DmaCopy{out, tile});
    builder.set_source_line("k.py:4");
    builder.emit(DmaCopy{out.slice(0, 127, 1), in.slice(0, 0, 1)});
    const auto found = check(builder, 1);
    ASSERT_EQ(rules_of(found), fill ? Rules{} : Rules{"overwritten-output"});
    if (fill) continue;
    EXPECT_TRUE(entry_of(found[0].rule).is_note);
    EXPECT_EQ(found[0].source_line, "k.py:4");
    EXPECT_EQ(found[0].other_line, "k.py:3");
    EXPECT_EQ(found[0].place.bytes->begin, 127 * 32);
  }
}

TEST(Outputs, WhoseRowsOverlapInOneStoreAreWrittenTwice) {
  for (const int64_t step : {7, 8}) {
    Builder builder("rows", trn2());
    const View out = builder.argument("out", {step * 127 + 8}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    builder.emit(Memset{tile, 1});
    builder.emit(DmaCopy{out.pattern({{128, step}, {8, 1}}, 0), tile});
    const auto found = check(builder, 0);
    ASSERT_EQ(rules_of(found), step == 8 ? Rules{} : Rules{"written-twice"});
    if (step == 7) {
      EXPECT_EQ(found[0].place.bytes->begin, 28);
    }
  }
}

TEST(Outputs, WrittenTwiceWithAReadBetweenAreNone) {
  Builder builder("read between", trn2());
  const View out = builder.argument("out", {128, 8}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(Memset{tile, 1});
  builder.loop(3, [&](const Affine&) {
    builder.emit(DmaCopy{out, tile});
    builder.emit(DmaCopy{tile, out});
  });
  EXPECT_TRUE(check(builder, 0).empty());
}

}  // namespace
}  // namespace neuron_sim
