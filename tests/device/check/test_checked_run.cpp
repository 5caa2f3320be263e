#include "device/check/checked_run.h"

#include <cmath>
#include <limits>

#include "device/execute/run_instance.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/sequencing/register_load.h"
#include "tests/device/check/check_programs.h"
#include "tests/device/execute/run_program.h"

namespace neuron_sim {
namespace {

/// A checked run of a program; `fill` sets its arguments before.
struct Checked {
  Checked(Builder& builder, size_t inputs, const RunNotes& notes = {},
          const std::function<void(ProgramRun&)>& fill = {})
      : program(builder.finish()), run(program) {
    if (fill) fill(run);
    std::vector<CoreMemory*> memories;
    for (size_t core = 0; core < program->cores.size(); ++core) {
      memories.push_back(&run.memory(core));
    }
    const std::vector<std::byte*> arguments = run.arguments();
    ThreadPool pool(1);
    try {
      checked_run(*program, make_plan(*program), {memories, arguments}, pool, {inputs, {}, false},
                  notes, found);
    } catch (const OutOfBounds& error) {
      sentence = error.what();
    }
  }
  std::shared_ptr<const Program> program;
  ProgramRun run;
  std::vector<Finding> found;
  std::string sentence;
};

/// Rows of table [16, 8] by the indices of an argument, in iteration i of 2, stored to out.
struct RowGather {
  explicit RowGather(int64_t rows_of_index = 4) {
    const View table = builder.argument("table", {16, 8}, Dtype::kFloat32);
    const View indices = builder.argument("indices", {2, 4, 1}, Dtype::kInt32);
    const View out = builder.argument("out", {2, 4, 8}, Dtype::kFloat32);
    const View index = builder.sbuf("index", {4, 1}, Dtype::kInt32);
    const View tile = builder.sbuf("tile", {4, 8}, Dtype::kFloat32);
    builder.loop(2, [&](const Affine& i) {
      builder.set_source_line("k.py:3");
      builder.emit(DmaCopy{index.slice(0, 0, rows_of_index),
                           indices.select(0, i).slice(0, 0, rows_of_index)});
      builder.set_source_line("k.py:4");
      builder.emit(DmaCopy{.dst = tile, .src = table.indirect(16, 4), .index = index});
      builder.set_source_line("k.py:5");
      builder.emit(DmaCopy{out.select(0, i), tile});
    });
  }
  Checked run(int32_t last) {
    return {builder, 2, {}, [&](ProgramRun& run) { run.data<int32_t>(1)[7] = last; }};
  }
  Builder builder{"gather", trn2()};
};

TEST(CheckedRun, AnIndexInRangeIsNone) {
  const Checked checked = RowGather().run(15);
  EXPECT_EQ(rules_of(checked.found), Rules{});
  EXPECT_EQ(checked.sentence, "");
}

TEST(CheckedRun, AnIndexOutOfRangeNamesLineTilePartitionAndIteration) {
  for (const int32_t index : {16, -1}) {
    const Checked checked = RowGather().run(index);
    ASSERT_EQ(rules_of(checked.found), Rules{"out-of-bounds"});
    const Finding& found = checked.found[0];
    EXPECT_EQ(found.source_line, "k.py:4");
    EXPECT_EQ(found.tile, "table");
    EXPECT_EQ(found.operand, "src");
    EXPECT_EQ(found.index, std::vector<int64_t>{1});
    EXPECT_EQ(found.place.partitions->begin, 3);
    EXPECT_NE(found.message.find(text("index ", index, " of partition 3")), std::string::npos);
    EXPECT_NE(checked.sentence.find("at k.py:4"), std::string::npos) << checked.sentence;
  }
}

TEST(CheckedRun, AnIndexThatNothingWroteIsUndefined) {
  const Checked checked = RowGather(3).run(0);
  // Uninitialised integers hold 4, which is a row.
  ASSERT_EQ(rules_of(checked.found), Rules{"uninitialised-read"});
  EXPECT_EQ(checked.found[0].operand, "index");
  EXPECT_EQ(checked.found[0].place.partitions->begin, 3);
}

/// Rows [0, 4) of a tile go to the rows of out [4, 8] that `rows` names.
Checked scatter(const std::vector<int32_t>& rows) {
  Builder builder("scatter", trn2());
  const View indices = builder.argument("indices", {4, 1}, Dtype::kInt32);
  const View out = builder.argument("out", {4, 8}, Dtype::kFloat32);
  const View index = builder.sbuf("index", {4, 1}, Dtype::kInt32);
  const View tile = builder.sbuf("tile", {4, 8}, Dtype::kFloat32);
  builder.emit(DmaCopy{index, indices});
  builder.emit(Memset{tile, 1});
  builder.emit(DmaCopy{.dst = out.indirect(4, 4), .src = tile, .index = index});
  return {builder, 1, {}, [&](ProgramRun& run) {
            std::copy(rows.begin(), rows.end(), run.data<int32_t>(0));
          }};
}

TEST(CheckedRun, AScatterCountsTheRowsThatItReaches) {
  EXPECT_EQ(rules_of(scatter({3, 1, 0, 2}).found), Rules{});
  const auto found = scatter({3, 1, 0, 1}).found;
  ASSERT_EQ(rules_of(found), (Rules{"written-twice", "unwritten-output"}));
  EXPECT_EQ(found[0].place.bytes->begin, 32);
  EXPECT_EQ(found[1].place.bytes->begin, 64);
  EXPECT_EQ(found[1].place.bytes->end, 96);
}

/// out = tile[:, r : r + 4] of a tile of 8 elements whose first `written` are set.
Checked at_register(int32_t offset, int64_t written) {
  Builder builder("register", trn2());
  const View start = builder.argument("start", {1, 1}, Dtype::kInt32);
  const View out = builder.argument("out", {128, 4}, Dtype::kFloat32);
  const View number = builder.sbuf("number", {1, 1}, Dtype::kInt32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  builder.emit(DmaCopy{number, start});
  builder.emit(Memset{tile.slice(1, 0, written), 1});
  const int index = builder.allocate_register();
  builder.emit(RegisterLoad{.dst = index, .src = number, .engine = EngineKind::kSync});
  builder.set_source_line("k.py:8");
  builder.emit(DmaCopy{
      .dst = out, .src = tile.slice(1, 0, 4).at_register(index, 4), .engine = EngineKind::kSync});
  return {builder, 1, {}, [&](ProgramRun& run) { run.data<int32_t>(0)[0] = offset; }};
}

TEST(CheckedRun, AnAddressInARegisterCountsAsItIs) {
  EXPECT_EQ(rules_of(at_register(2, 6).found), Rules{});
  const auto found = at_register(3, 6).found;
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].place.bytes->begin, 24);
  EXPECT_EQ(found[0].place.bytes->end, 28);
}

TEST(CheckedRun, AnAddressOutOfItsTileIsAFinding) {
  const Checked checked = at_register(5, 8);
  ASSERT_EQ(rules_of(checked.found), Rules{"out-of-bounds"});
  EXPECT_EQ(checked.found[0].source_line, "k.py:8");
}

/// 1 / (in - 1) in tiles of bf16.
Builder reciprocals(Dtype dtype) {
  Builder builder("reciprocals", trn2());
  const View in = builder.argument("in", {128, 8}, dtype);
  const View out = builder.argument("out", {128, 8}, dtype);
  const View tile = builder.sbuf("tile", {128, 8}, dtype);
  const View less = builder.sbuf("less", {128, 8}, dtype);
  const View result = builder.sbuf("result", {128, 8}, dtype);
  builder.emit(DmaCopy{tile, in});
  builder.set_source_line("k.py:2");
  builder.emit(TensorScalar{.dst = less, .data = tile, .constant0 = -1});
  builder.set_source_line("k.py:3");
  builder.emit(Activate{.dst = result, .data = less, .op = Activation::kReciprocal});
  builder.emit(DmaCopy{out, result});
  return builder;
}

TEST(CheckedRun, NotesTheFirstInfinity) {
  Builder builder = reciprocals(Dtype::kFloat32);
  const Checked checked(builder, 1, {.first_non_finite = true}, [](ProgramRun& run) {
    std::fill_n(run.data<float>(0), 128 * 8, 3.0F);
    run.data<float>(0)[8 * 100 + 5] = 1.0F;
  });
  ASSERT_EQ(rules_of(checked.found), Rules{"first-non-finite"});
  EXPECT_EQ(checked.found[0].source_line, "k.py:3");
  EXPECT_EQ(checked.found[0].tile, "result");
  EXPECT_EQ(checked.found[0].place.partitions->begin, 100);
  EXPECT_EQ(checked.found[0].place.bytes->begin, 20);
}

TEST(CheckedRun, NotesNoInfinityThatTheCallerPassed) {
  Builder builder = reciprocals(Dtype::kFloat32);
  const Checked checked(builder, 1, {.first_non_finite = true}, [](ProgramRun& run) {
    std::fill_n(run.data<float>(0), 128 * 8, 3.0F);
    run.data<float>(0)[7] = std::numeric_limits<float>::infinity();
  });
  EXPECT_EQ(rules_of(checked.found), Rules{});
}

TEST(CheckedRun, NotesThePrecisionThatATileLoses) {
  // 1 + 2^-7 is a bf16, minus 1 exactly 2^-7; 256 + 1 is none and rounds to 256.
  for (const bool loses : {true, false}) {
    Builder builder = reciprocals(Dtype::kBfloat16);
    const Checked checked(builder, 1, {.precision = true}, [&](ProgramRun& run) {
      const std::vector<float> values(128 * 8, loses ? 258.0F : 1.0F + 0x1p-7F);
      store_floats(values.data(), run.data<std::byte>(0), Dtype::kBfloat16, 2, 128 * 8);
    });
    ASSERT_EQ(checked.found.empty(), !loses);
    if (!loses) continue;
    // 257 becomes 256 or 258 in bf16: off by 1 / 257.
    EXPECT_EQ(checked.found.back().rule, Rule::kPrecisionLost);
    const auto less = std::find_if(checked.found.begin(), checked.found.end(),
                                   [](const Finding& each) { return each.tile == "less"; });
    ASSERT_NE(less, checked.found.end());
    EXPECT_NE(less->message.find("0.00389"), std::string::npos) << less->message;
    EXPECT_EQ(less->source_line, "k.py:2");
  }
}

TEST(CheckedRun, HasTheBytesOfAnUncheckedOne) {
  for (const bool notes : {true, false}) {
    Builder builder = reciprocals(Dtype::kBfloat16);
    Checked checked(builder, 1, {notes, notes}, [](ProgramRun& run) { run.randomise(3); });
    Builder again = reciprocals(Dtype::kBfloat16);
    ProgramRun plain(again.finish());
    plain.randomise(3);
    ThreadPool pool(1);
    plain.execute(make_plan(plain.program()), pool);
    EXPECT_EQ(checked.run.bytes(), plain.bytes());
  }
}

}  // namespace
}  // namespace neuron_sim
