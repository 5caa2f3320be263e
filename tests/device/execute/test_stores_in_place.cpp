#include "device/execute/stores_in_place.h"

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// Results that a test computes from a tensor and stores as it likes.
struct Results {
  void store(const View& dst, const View& src) { builder.emit(DmaCopy{.dst = dst, .src = src}); }
  /// `result` becomes twice the input.
  void load_and_double() {
    store(data, input);
    twice(result, data);
  }
  void twice(const View& dst, const View& data) {
    builder.emit(TensorScalar{.dst = dst, .data = data, .op0 = AluOp::kMultiply, .constant0 = 2});
  }
  /// Stores that need not run, after a comparison with an interpretation in program order.
  int64_t omitted() { return omitted_transfers(builder.finish(), MemoryKind::kHbm); }

  Builder builder{"results", load_architecture("trn2")};
  View input = builder.argument("input", {64, 50}, Dtype::kFloat32);
  View output = builder.argument("output", {64, 50}, Dtype::kFloat32);
  View other = builder.argument("other", {64, 50}, Dtype::kFloat32);
  View data = builder.sbuf("data", {64, 50}, Dtype::kFloat32);
  View result = builder.sbuf("result", {64, 50}, Dtype::kFloat32);
};

TEST(StoresInPlace, AResultThatIsOnlyStoredIsWrittenToHbm) {
  Results results;
  results.load_and_double();
  results.store(results.output, results.result);
  EXPECT_EQ(results.omitted(), 1);
}

TEST(StoresInPlace, AStoreOfSeveralResultsIsWrittenInItsPlaces) {
  Results results;
  results.store(results.data, results.input);
  for (const int64_t start : {0, 17}) {
    const int64_t size = start == 0 ? 17 : 33;
    results.twice(results.result.slice(1, start, size), results.data.slice(1, start, size));
  }
  results.store(results.output, results.result);
  EXPECT_EQ(results.omitted(), 1);
}

TEST(StoresInPlace, AStoreOfPartOfAResultRuns) {
  Results results;
  results.load_and_double();
  results.store(results.output.slice(1, 0, 49), results.result.slice(1, 0, 49));
  EXPECT_EQ(results.omitted(), 0);
}

TEST(StoresInPlace, AStoreOfBytesThatNoElementWiseInstructionWroteRuns) {
  Results results;
  results.store(results.data, results.input);
  results.twice(results.result.slice(1, 0, 49), results.data.slice(1, 0, 49));
  results.builder.emit(TensorReduce{.dst = results.result.slice(1, 49, 1), .data = results.data});
  results.store(results.output, results.result);
  EXPECT_EQ(results.omitted(), 0);
}

TEST(StoresInPlace, AResultThatIsReadBeforeOrAfterItsStoreIsStored) {
  for (const bool before : {true, false}) {
    Results results;
    results.load_and_double();
    if (!before) results.store(results.output, results.result);
    results.twice(results.data, results.result);
    if (before) results.store(results.output, results.result);
    results.store(results.other, results.data);
    EXPECT_EQ(results.omitted(), 1) << before;  // of `data`
  }
}

TEST(StoresInPlace, AResultThatIsStoredTwiceIsStored) {
  Results results;
  results.load_and_double();
  results.store(results.output, results.result);
  results.store(results.other, results.result);
  EXPECT_EQ(results.omitted(), 0);
}

TEST(StoresInPlace, AResultChangedInItsTileIsWrittenLast) {
  Results results;
  results.load_and_double();
  results.twice(results.result, results.result);
  results.store(results.output, results.result);
  EXPECT_EQ(results.omitted(), 1);
}

TEST(StoresInPlace, AResultOverwrittenInPartBeforeItsStoreIsStored) {
  Results results;
  results.load_and_double();
  results.builder.emit(Memset{results.result.slice(1, 5, 2), 3});
  results.store(results.output, results.result);
  EXPECT_EQ(results.omitted(), 0);
}

TEST(StoresInPlace, AResultOverwrittenInPartAfterItsStoreIsWrittenToHbm) {
  Results results;
  results.load_and_double();
  results.store(results.output, results.result);
  results.twice(results.result.slice(1, 0, 20), results.data.slice(1, 0, 20));
  results.store(results.other.slice(1, 0, 20), results.result.slice(1, 0, 20));
  EXPECT_EQ(results.omitted(), 2);
}

TEST(StoresInPlace, AStoreToATensorThatTheProgramReadsOrWritesTwiceRuns) {
  for (const bool reads : {true, false}) {
    Results results;
    results.store(results.data, reads ? results.output : results.input);
    results.twice(results.result, results.data);
    results.store(results.output, results.result);
    if (!reads) {
      results.twice(results.data, results.data);
      results.store(results.output.slice(1, 0, 10), results.data.slice(1, 0, 10));
    }
    EXPECT_EQ(results.omitted(), 0) << reads;
  }
}

TEST(StoresInPlace, AStoreThatConvertsOrAddsRuns) {
  for (const bool adds : {true, false}) {
    Results results;
    const View narrow = results.builder.argument("narrow", {64, 50}, Dtype::kBfloat16);
    results.load_and_double();
    results.builder.emit(
        DmaCopy{.dst = adds ? results.output : narrow, .src = results.result, .dst_rmw_add = adds});
    EXPECT_EQ(results.omitted(), 0) << adds;
  }
}

TEST(StoresInPlace, AStoreOfTransposedResultsRuns) {
  Results results;
  results.store(results.data, results.input);
  const View square = results.result.slice(1, 0, 25);
  results.twice(square, results.data.slice(1, 0, 25));
  results.store(results.output.slice(1, 0, 25), square.split(1, 5, 5).permute({0, 2, 1}));
  EXPECT_EQ(results.omitted(), 0);
}

/// Tiles of a tensor, loaded, computed and stored by a loop with rings, as kernels are written.
TEST(StoresInPlace, LoopsOverTilesNeitherLoadNorStore) {
  Builder builder("loop", load_architecture("trn2"));
  const View input = builder.argument("input", {128, 7, 31}, Dtype::kFloat32);
  const View output = builder.argument("output", {128, 7, 31}, Dtype::kFloat32);
  const View in = builder.sbuf("in", {128, 31}, Dtype::kFloat32, 3);
  const View out = builder.sbuf("out", {128, 31}, Dtype::kFloat32, 2);
  builder.loop(7, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = in.turn(i), .src = input.select(1, i)});
    builder.emit(TensorTensor{
        .dst = out.turn(i), .data1 = in.turn(i), .data2 = in.turn(i), .op = AluOp::kAdd});
    builder.emit(DmaCopy{.dst = output.select(1, i), .src = out.turn(i)});
  });
  const std::shared_ptr<const Program> program = builder.finish();
  const ExecutionPlan plan = make_plan(*program);
  EXPECT_EQ(plan.graph.instances.size(), 7U);
  EXPECT_TRUE(is_like_interpretation(program, plan, 8, 2));
}

/// Loads, computes, overwrites and stores random columns of three tiles; each output is stored
/// once.
std::shared_ptr<const Program> random_tiles(uint64_t seed) {
  constexpr int64_t kWidth = 12;
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  Builder builder("tiles", load_architecture("trn2"));
  const View input = builder.argument("input", {16, kWidth}, Dtype::kFloat32);
  std::vector<View> tiles;
  for (int i = 0; i < 3; ++i) tiles.push_back(builder.sbuf("tile", {16, kWidth}, Dtype::kFloat32));
  const int64_t widths[] = {kWidth, kWidth / 2, 3};
  for (int i = 0; i < 40; ++i) {
    const int64_t width = widths[below(3)];
    const auto columns = [&](const View& tile) {
      return tile.slice(1, width * below(kWidth / width), width);
    };
    const auto tile = [&] { return columns(tiles[static_cast<size_t>(below(3))]); };
    switch (below(5)) {
      case 0: builder.emit(DmaCopy{.dst = tile(), .src = columns(input)}); break;
      case 1: builder.emit(Memset{.dst = tile(), .value = 0.5}); break;
      case 2: {
        const View output = builder.argument("output", {16, width}, Dtype::kFloat32);
        builder.emit(DmaCopy{.dst = output, .src = tile()});
        break;
      }
      default:
        builder.emit(
            TensorTensor{.dst = tile(), .data1 = tile(), .data2 = tile(), .op = AluOp::kAdd});
    }
  }
  return builder.finish();
}

TEST(StoresInPlace, RandomProgramsStoreTheBytesOfAnInterpretation) {
  int64_t loads = 0, stores = 0;
  for (uint64_t seed = 900; seed < 1300; ++seed) {
    const auto program = random_tiles(seed);
    const ExecutionPlan plan = make_plan(*program);
    for (const int32_t operand : plan.graph.replaced) {
      if (operand < 0) continue;
      ++(plan.graph.operands[static_cast<size_t>(operand)].writes() ? stores : loads);
    }
    ASSERT_TRUE(is_like_interpretation(program, plan, seed)) << "seed " << seed;
  }
  EXPECT_GT(loads, 100);
  EXPECT_GT(stores, 50);
}

}  // namespace
}  // namespace neuron_sim
