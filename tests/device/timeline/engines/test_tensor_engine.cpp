// Tiles of the PE array, hints and background transposes, with round numbers: 1 GHz, one cycle per
// column, 128 cycles to load 128 columns of weights.

#include "device/timeline/engines/tensor_engine.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_matmul_mx.h"
#include "device/isa/tensor/nc_transpose.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr Picoseconds ns(int64_t count) { return {count * 1000}; }

Architecture round_numbers(const char* name = "trn2") {
  Architecture a = load_architecture(name);
  a.features.clock_gating = false;
  a.features.hidden_weight_load = true;
  a.clocks.tensor = a.clocks.tensor_cold = {1};
  a.tensor.minimum_columns = 10;
  a.tensor.columns_init = 0;
  a.tensor.load_cycles_16bit = 128;
  a.tensor.load_cycles_fp32 = 512;
  a.tensor.load_cycles_fp32_transpose = 128;
  a.tensor.passes_fp32 = 4;
  a.tensor.passes_fp32_onezero = 2;
  a.tensor.fp32_pairs = 1;
  a.tensor.issue_overhead = a.tensor.load_issue = a.tensor.load_advance = ns(0);
  a.tensor.multiply_issue = a.tensor.multiply_issue_event = a.tensor.load_queue = ns(0);
  a.tensor.load_latency = ns(0);
  a.tensor.load_latency_cycles = 0;
  a.tensor.drain = ns(50);
  a.tensor.drain_cycles = 0;
  return a;
}

/// Loads and multiplies straight on the engine.
class TensorEngineTest : public ::testing::Test {
 protected:
  explicit TensorEngineTest(const char* name = "trn2") : architecture(round_numbers(name)) {}

  Span multiply(ArrayTile tile, int64_t elements, int64_t weights, bool transpose = false,
                MatmulClass kind = MatmulClass::k16bit) {
    Step load{.unit = Unit::kLoadStationary, .matmul = kind, .transpose = transpose, .array = tile};
    load.elements = 10;  // a load of 10 ns
    Step stream = load;
    stream.elements = elements;
    const MatmulWork work = engine().work(load, stream);
    const int32_t rows = tile.rows > 0 ? tile.rows : 128;
    engine().load(work, {0, weights, 10, 0, rows}, ns(0));
    Span span = engine().multiply(work);
    span.start = span.end - engine().streamed();  // after its weights
    return span;
  }
  TensorEngine& engine() {
    if (!engine_) engine_.emplace(architecture, false);
    return *engine_;
  }

  Architecture architecture;

 private:
  std::optional<TensorEngine> engine_;
};

constexpr ArrayTile kWhole{};
constexpr ArrayTile rows(int16_t row, int16_t count) { return {row, count, 0, 128}; }

TEST_F(TensorEngineTest, DisjointRowsRunAtTheSameTimeAndSharedOnesOneAfterTheOther) {
  const Span first = multiply(rows(0, 64), 500, 1);
  EXPECT_EQ(first.start, ns(10));
  EXPECT_EQ(first.end, ns(510));
  const Span beside = multiply(rows(64, 64), 300, 2);
  EXPECT_EQ(beside.start, ns(20));  // its weights were loaded after those of the first
  EXPECT_EQ(beside.end, ns(320));
  EXPECT_EQ(multiply(rows(64, 32), 100, 3).start, ns(320));
  EXPECT_EQ(multiply(rows(0, 32), 100, 4).start, ns(510));
}

TEST_F(TensorEngineTest, DisjointColumnsRunAtTheSameTime) {
  multiply({0, 128, 0, 32}, 500, 1);
  EXPECT_EQ(multiply({0, 128, 96, 32}, 500, 2).start, ns(20));
  EXPECT_EQ(multiply({32, 32, 32, 32}, 500, 3).start, ns(30));
  EXPECT_EQ(multiply({96, 32, 64, 64}, 500, 4).start, ns(520));  // meets the one in column 96
}

TEST_F(TensorEngineTest, InstructionsStartInOrder) {
  multiply(rows(64, 64), 100, 9);
  multiply(rows(0, 64), 500, 1);  // 20 to 520
  EXPECT_EQ(multiply(rows(0, 64), 100, 1).start, ns(520));
  EXPECT_EQ(multiply(rows(64, 64), 100, 9).start, ns(520));  // free and loaded since long
}

TEST_F(TensorEngineTest, AMatmulOnTheWholeArrayWaitsForEveryTile) {
  multiply(rows(0, 32), 100, 1);
  multiply(rows(96, 32), 700, 2);
  EXPECT_EQ(multiply(kWhole, 50, 3).start, ns(720));
  EXPECT_EQ(multiply(rows(32, 32), 50, 4).start, ns(770));
}

TEST_F(TensorEngineTest, EveryTileKeepsItsWeights) {
  multiply(rows(0, 64), 50, 1);
  multiply(rows(64, 64), 50, 2);
  Step step{.unit = Unit::kLoadStationary, .array = rows(0, 64), .elements = 10};
  const auto reload = [&](const ArrayTile& tile, int64_t weights) {
    step.array = tile;
    const LoadedWeights loaded{0, weights, 10, 0, 64};
    const Span span = engine().load(engine().work(step, step), loaded, ns(0));
    return span.end > span.start;
  };
  EXPECT_FALSE(reload(rows(0, 64), 1));
  EXPECT_FALSE(reload(rows(64, 64), 2));
  EXPECT_FALSE(reload(rows(64, 32), 2));
  EXPECT_TRUE(reload(rows(32, 32), 7));
  EXPECT_TRUE(reload(rows(0, 64), 1));  // half of it was replaced
  engine().forget(0);
  EXPECT_TRUE(reload(rows(64, 32), 2));
}

TEST_F(TensorEngineTest, HintsTakeTwoPassesInsteadOfFour) {
  const Span plain = multiply(kWhole, 100, 1, false, MatmulClass::kFp32);
  const Span hinted = multiply(kWhole, 100, 2, false, MatmulClass::kFp32OneZero);
  EXPECT_EQ(plain.end - plain.start, ns(400));
  EXPECT_EQ(hinted.end - hinted.start, ns(200));
}

TEST_F(TensorEngineTest, WorkIsThatOfOnePairAtEitherClock) {
  architecture.clocks.tensor = {2};
  architecture.tensor.fp32_pairs = 2;
  const Step load{.matmul = MatmulClass::kFp32, .elements = 32};
  const Step stream{.matmul = MatmulClass::kFp32, .elements = 100};
  const MatmulWork fp32 = engine().work(load, stream);
  EXPECT_EQ(fp32.pairs, 2);
  EXPECT_EQ(fp32.load.cold, ns(128));  // a quarter of 512 cycles
  EXPECT_EQ(fp32.load.warm, ns(64));
  EXPECT_EQ(fp32.multiply.cold, ns(200));  // half of four passes
  EXPECT_EQ(fp32.multiply.warm, ns(100));
  const MatmulWork narrow = engine().work({.elements = 32}, {.elements = 100});
  EXPECT_EQ(narrow.pairs, 1);
  EXPECT_EQ(narrow.load.cold, ns(32));
  EXPECT_EQ(narrow.multiply.cold, ns(100));
}

TEST_F(TensorEngineTest, TransposesOfGeneration2AreAPairForEachHalf) {
  const Step load{.matmul = MatmulClass::kFp32Transpose, .elements = 128};
  const Step stream{.matmul = MatmulClass::kFp32Transpose, .elements = 128};
  const Architecture& trn1 = load_architecture("trn1");
  const MatmulWork halves = TensorEngine(trn1, true, {}).work(load, stream);
  EXPECT_EQ(halves.pairs, 2);
  EXPECT_EQ(halves.load.warm, PeClock(trn1, true, {}).time_of(128).warm);
  EXPECT_EQ(halves.multiply.warm, PeClock(trn1, true, {}).time_of(128 + 64).warm);
  EXPECT_EQ(TensorEngine(load_architecture("trn2"), true, {}).work(load, stream).pairs, 1);
}

TEST_F(TensorEngineTest, OverlappingMultipliesAddUpTheRowsThatAreBusy) {
  architecture.features.clock_gating = true;
  architecture.clocks = {{2}, {1}, {1}, {1}, {1}, {1}};
  architecture.tensor.gate_window = ns(1000);
  architecture.tensor.gate_up = 0.7;
  architecture.tensor.gate_down = 0.2;
  multiply(rows(0, 64), 400, 1);   // 10 to 410, half of the rows
  multiply(rows(64, 64), 400, 2);  // 20 to 420: all rows for 400 of 1000
  EXPECT_FALSE(engine().clock().warm(ns(1500)));
  EXPECT_EQ(engine().clock().busy_until(), ns(410));
}

class BackgroundTranspose : public TensorEngineTest {
 protected:
  BackgroundTranspose() : TensorEngineTest("trn3") {}
};

TEST_F(BackgroundTranspose, RunsBesideAMultiplyAndBesideAnotherTranspose) {
  EXPECT_EQ(multiply(kWhole, 500, 1).start, ns(10));
  EXPECT_EQ(multiply(kWhole, 100, 2, true).start, ns(20));
  EXPECT_EQ(multiply(kWhole, 100, 3, true).start, ns(120));
  EXPECT_EQ(multiply(kWhole, 100, 4).start, ns(510));  // only transposes go to the background
  EXPECT_EQ(multiply(kWhole, 128, 5, true).start, ns(520));
  EXPECT_EQ(multiply(kWhole, 128, 6, true).start, ns(610));
  EXPECT_EQ(multiply(kWhole, 128, 7, true).start, ns(648));
}

TEST_F(TensorEngineTest, GenerationThreeHasNoBackground) {
  multiply(kWhole, 500, 1);
  EXPECT_EQ(multiply(kWhole, 100, 2, true).start, ns(510));
}

struct Recorder : TimelineObserver {
  void step(const Program&, const StepEvent& event) override { events.push_back(event); }
  std::vector<StepEvent> events;
};

/// Start and end of the multiplies of a program.
std::vector<Span> multiplies(Builder& builder, Timing* timing = nullptr, bool skip = true) {
  Recorder recorder;
  TimelineOptions options{.skip_steady_loops = skip,
                          .observer = timing == nullptr ? &recorder : nullptr};
  const auto program = builder.finish();
  const Timing result = simulate(*program, {}, options);
  if (timing != nullptr) *timing = result;
  std::vector<Span> spans;
  for (const StepEvent& event : recorder.events) {
    if (event.unit == Unit::kMultiplyMoving) spans.push_back(event.span);
  }
  return spans;
}

/// Four products of 32 rows, on tiles of their own or on the whole array.
void emit_quarters(Builder& builder, const View& weights, const View& data, const View& sum,
                   bool tiled) {
  for (int64_t i = 0; i < 4; ++i) {
    NcMatmul matmul{.dst = sum.select(1, i),
                    .stationary = weights.slice(0, 32 * i, 32),
                    .moving = data.slice(0, 32 * i, 32)};
    if (tiled) {
      matmul.tile_position = {32 * i, 0};
      matmul.tile_size = {32, 128};
    }
    builder.emit(matmul);
  }
}

TEST(TensorEngineProgram, FourRowTilesTakeAboutTheTimeOfOne) {
  std::vector<Picoseconds> lengths;
  for (const bool tiled : {false, true}) {
    const Architecture a = round_numbers();
    Builder builder("tiles", a);
    const View weights = builder.sbuf("weights", {128, 16}, Dtype::kBfloat16);
    const View data = builder.sbuf("data", {128, 512}, Dtype::kBfloat16);
    emit_quarters(builder, weights, data, builder.psum("sum", {16, 4, 512}), tiled);
    const std::vector<Span> spans = multiplies(builder);
    ASSERT_EQ(spans.size(), 4u);
    lengths.push_back(spans.back().end - spans.front().start);
  }
  EXPECT_EQ(lengths[0], ns(16 + 4 * 512));
  EXPECT_EQ(lengths[1], ns(512 + 4 * 16));  // the loads of 16 columns follow each other
}

TEST(TensorEngineProgram, WeightsOfOtherPartitionsAreOtherWeights) {
  const Architecture a = round_numbers();
  Builder builder("partitions", a);
  const View weights = builder.sbuf("weights", {128, 16}, Dtype::kBfloat16);
  const View data = builder.sbuf("data", {128, 512}, Dtype::kBfloat16);
  const View sum = builder.psum("sum", {16, 512});
  for (const int64_t start : {0, 64, 64, 0}) {
    builder.emit(NcMatmul{.dst = sum.slice(1, 0, 10),
                          .stationary = weights.slice(0, start, 64),
                          .moving = data.slice(0, start, 64).slice(1, 0, 10)});
  }
  const std::vector<Span> spans = multiplies(builder);
  EXPECT_EQ(spans[0].end, ns(16 + 10));
  EXPECT_EQ(spans[1].end, ns(32 + 10));  // each load takes 16
  EXPECT_EQ(spans[2].end, ns(42 + 10));
  EXPECT_EQ(spans[3].end, ns(58 + 10));  // loaded while the third streamed
}

TEST(TensorEngineProgram, SteadyLoopsOverTilesAreSkippedExactly) {
  Timing timings[2];
  for (const bool skip : {false, true}) {
    Builder builder("loop", load_architecture("trn2"));
    const View weights = builder.sbuf("weights", {128, 16}, Dtype::kBfloat16);
    const View data = builder.sbuf("data", {128, 512}, Dtype::kBfloat16);
    const View sum = builder.psum("sum", {16, 4, 512});
    builder.loop(500, [&](const Affine&) { emit_quarters(builder, weights, data, sum, true); });
    multiplies(builder, &timings[skip ? 1 : 0], skip);
  }
  EXPECT_EQ(timings[0].body, timings[1].body);
  EXPECT_EQ(timings[0].multiply_accumulates, timings[1].multiply_accumulates);
  EXPECT_EQ(timings[0].skipped_instances, 0);
  EXPECT_GT(timings[1].skipped_instances, 0);
}

TEST(TensorEngineProgram, TheLoadWaitsForTheScalesOfBothOperands) {
  const Architecture a = round_numbers("trn3");
  for (const bool stationary_late : {false, true}) {
    Builder builder("scales", a);
    const Dtype packed = Dtype::kFloat8E4m3fnX4;
    const View input = builder.argument("scales", {32, 16}, Dtype::kUint8);
    const View weights = builder.sbuf("weights", {32, 16}, packed);
    const View data = builder.sbuf("data", {32, 16}, packed);
    const View early = builder.sbuf("early", {32, 16}, Dtype::kUint8);
    const View late = builder.sbuf("late", {32, 16}, Dtype::kUint8);
    builder.emit(DmaCopy{.dst = late, .src = input});
    builder.emit(NcMatmulMx{.dst = builder.psum("sum", {16, 16}),
                            .stationary = weights,
                            .moving = data,
                            .stationary_scale = stationary_late ? late : early,
                            .moving_scale = stationary_late ? early : late});
    Recorder recorder;
    TimelineOptions options{.observer = &recorder};
    const auto program = builder.finish();
    simulate(*program, {}, options);
    Picoseconds arrived{}, load{}, multiply{};
    for (const StepEvent& event : recorder.events) {
      if (event.kind == EventKind::kTransfer) arrived = event.span.done;
      if (event.unit == Unit::kLoadStationary) load = event.span.start;
      if (event.unit == Unit::kMultiplyMoving) multiply = event.span.start;
    }
    EXPECT_EQ(load, arrived + a.semaphore.wake[kEngineCount][0]);
    EXPECT_EQ(multiply, load);
  }
}

}  // namespace
}  // namespace neuron_sim
