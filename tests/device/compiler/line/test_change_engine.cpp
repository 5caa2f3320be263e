#include "device/compiler/line/change_engine.h"

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/random/rng.h"
#include "device/timeline/timeline.h"
#include "tests/device/compiler/compare_runs.h"

namespace neuron_sim {
namespace {

/// A sum, a maximum and random bits on Vector, a line each, between the transfers of line 1.
std::shared_ptr<const Program> three_lines() {
  Builder builder("lines", load_architecture("trn2"));
  const View x = builder.argument("x", {128, 8}, Dtype::kFloat32);
  const View y = builder.argument("y", {128, 8}, Dtype::kFloat32);
  const View z = builder.argument("z", {128, 8}, Dtype::kUint32);
  const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
  const View bits = builder.sbuf("bits", {128, 8}, Dtype::kUint32);
  builder.set_source_line("k.py:1");
  builder.emit(DmaCopy{.dst = tile, .src = x});
  builder.loop(3, [&](const Affine&) {
    builder.set_source_line("k.py:2");
    builder.emit(TensorScalar{.dst = tile, .data = tile, .op0 = AluOp::kAdd, .constant0 = 2});
    builder.set_source_line("k.py:3");
    builder.emit(TensorScalar{.dst = tile, .data = tile, .op0 = AluOp::kMaximum, .constant0 = 0});
  });
  builder.set_source_line("k.py:4");
  builder.emit(Rng{.dst = bits});
  builder.set_source_line("k.py:1");
  builder.emit(DmaCopy{.dst = y, .src = tile});
  builder.emit(DmaCopy{.dst = z, .src = bits});
  return builder.finish();
}

/// Engines of the elementwise lines 2, 3 and 4.
std::vector<EngineKind> engines(const Program& program) {
  std::vector<EngineKind> result;
  for (const Instruction& instruction : program.instructions) {
    const auto line = static_cast<size_t>(instruction.source_line);
    if (program.source_lines.at(line) != "k.py:1") result.push_back(instruction.engine);
  }
  return result;
}

constexpr EngineKind kVector = EngineKind::kVector;

TEST(ChangeEngine, TheLineAloneMovesAndComputesTheSameBytes) {
  const auto program = three_lines();
  for (const EngineKind engine : {EngineKind::kScalar, EngineKind::kGpSimd}) {
    const auto moved = on_engine(*program, "k.py:2", engine);
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(engines(*moved), (std::vector{engine, kVector, kVector}));
    EXPECT_EQ(bytes_after(moved), bytes_after(program));
    EXPECT_EQ(on_engine(*moved, "k.py:2", engine), nullptr) << "it is there";
    EXPECT_EQ(engines(*on_engine(*moved, "k.py:2", kVector)), engines(*program));
  }
  EXPECT_EQ(engines(*program), (std::vector{kVector, kVector, kVector}));
}

TEST(ChangeEngine, TheDemandIsThatOfTheNewEngine) {
  const auto program = three_lines();
  const auto moved = on_engine(*program, "k.py:2", EngineKind::kGpSimd);
  EXPECT_GT(simulate(*moved).body.count, simulate(*program).body.count);
}

TEST(ChangeEngine, NothingMovesThatTheEngineRefusesOrThatIsNotElementwise) {
  const auto program = three_lines();
  EXPECT_EQ(on_engine(*program, "k.py:3", EngineKind::kScalar), nullptr) << "no maximum on Scalar";
  EXPECT_EQ(on_engine(*program, "k.py:1", EngineKind::kScalar), nullptr) << "transfers";
  EXPECT_EQ(on_engine(*program, "k.py:2", EngineKind::kTensor), nullptr);
  EXPECT_EQ(on_engine(*program, "k.py", EngineKind::kScalar), nullptr) << "no such line";
}

TEST(ChangeEngine, AnInstructionThatReadsItsEnginesStateStays) {
  EXPECT_EQ(on_engine(*three_lines(), "k.py:4", EngineKind::kGpSimd), nullptr);
}

}  // namespace
}  // namespace neuron_sim
