#include "device/builder/repeated_instruction.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;

/// Emits into a builder with two tiles; the first instructions each have two operands or one.
struct RepeatedInstruction : testing::Test {
  Builder builder{"repeated", load_architecture("trn2")};
  View x = builder.sbuf("x", {128, 64}, kFloat), y = builder.sbuf("y", {128, 64}, kFloat);

  int line = 0;

  /// Operands that the program has after emitting `body` twice on the next line of the kernel.
  size_t operands_of_two(const std::function<void(bool again)>& body) {
    ++line;
    for (const bool again : {false, true}) {
      builder.set_source_line("k.py:" + std::to_string(line));
      body(again);
    }
    return builder.program()->operands.size();
  }
};

TEST_F(RepeatedInstruction, SharesOperandsAttributesAndDemand) {
  EXPECT_EQ(operands_of_two([&](bool) { builder.emit(Memset{x.slice(1, 8, 4), 3}); }), 1U);
  const Program& program = *builder.program();
  ASSERT_EQ(program.instructions.size(), 2U);
  EXPECT_EQ(program.demands.size(), 1U);
  EXPECT_EQ(program.attributes.size(), program.instructions[0].attribute_count);
}

TEST_F(RepeatedInstruction, DiffersInAnythingThatIsStored) {
  const std::function<void(bool)> bodies[] = {
      [&](bool again) {
        builder.emit(Memset{again ? x : y, 3});
      },
      [&](bool again) {
        builder.emit(Memset{x, again ? 3.0 : 4.0});
      },
      [&](bool again) {
        builder.emit(Memset{x.slice(1, again ? 8 : 4, 4), 3});
      },
      [&](bool again) {
        builder.emit(Memset{x.slice(1, 0, again ? 8 : 4), 3});
      },
      [&](bool again) {
        builder.emit(Memset{x.slice(1, 0, 4, again ? 2 : 1), 3});
      },
      [&](bool again) {
        builder.emit(Memset{x.slice(0, again ? 32 : 0, 32), 3});
      },
      [&](bool again) {
        builder.emit(Memset{x.slice(0, 0, again ? 32 : 64), 3});
      },
      [&](bool again) {
        builder.emit(Memset{again ? x : x.reinterpret(Dtype::kInt32), 3});
      },
      [&](bool again) {
        builder.emit(Memset{x, 3, again ? EngineKind::kGpSimd : EngineKind::kVector});
      },
  };
  for (const auto& body : bodies) {
    const size_t before = builder.program()->operands.size();
    EXPECT_EQ(operands_of_two(body) - before, 2U);
  }
}

TEST_F(RepeatedInstruction, OnOtherTilesOfTheSameSizesSharesAttributesAndDemandOnly) {
  const View wide = builder.sbuf("wide", {128, 128}, kFloat);
  builder.set_source_line("k.py:1");
  builder.emit(TensorCopy{x, y});
  builder.emit(TensorCopy{y, x});
  const Program& program = *builder.program();
  EXPECT_EQ(program.operands.size(), 4U);
  EXPECT_EQ(program.demands.size(), 1U);
  EXPECT_EQ(program.operands[2].tile, y.tile());
  builder.emit(TensorCopy{x, x});  // the operands share a tile
  builder.emit(TensorCopy{wide.slice(1, 0, 64), y});
  EXPECT_EQ(program.demands.size(), 3U);
}

TEST_F(RepeatedInstruction, OnTheSameTilesIsPreferred) {
  const std::vector<View> tiles = {x, y, x};
  builder.set_source_line("k.py:1");
  for (const View& each : tiles) builder.emit(Memset{each, 3});
  const Program& program = *builder.program();
  EXPECT_EQ(program.operands.size(), 2U);
  EXPECT_EQ(program.instructions[2].first_operand, program.instructions[0].first_operand);
}

TEST_F(RepeatedInstruction, OfAnotherLineOrOfNoneHasItsOwnOperands) {
  for (const char* line : {"k.py:1", "k.py:2", "", ""}) {
    builder.set_source_line(line);
    builder.emit(Memset{x, 3});
  }
  EXPECT_EQ(builder.program()->operands.size(), 4U);
}

TEST_F(RepeatedInstruction, OfALoopHasTheSameStepsInTheSameLoop) {
  for (int loop = 0; loop < 2; ++loop) {
    builder.loop(4, [&](const Affine& i) {
      builder.set_source_line("k.py:1");
      builder.emit(Memset{x.slice(1, i * 4, 4), 3});
      builder.emit(Memset{x.slice(1, i * 8, 4), 3});
      builder.emit(Memset{x.slice(1, i * 4, 4), 3});
    });
  }
  EXPECT_EQ(builder.program()->operands.size(), 4U);
  EXPECT_EQ(builder.program()->terms.size(), 4U);
}

TEST_F(RepeatedInstruction, IsFoundAmongTheLast64) {
  for (const int between : {63, 64}) {
    Builder other("far", load_architecture("trn2"));
    const View tile = other.sbuf("tile", {128, 256}, kFloat);
    for (int i = 0; i < between + 2; ++i) {
      const bool ends = i == 0 || i == between + 1;
      other.set_source_line(ends ? "k.py:1" : "k.py:2");
      other.emit(Memset{tile.slice(1, ends ? 0 : i, 1), 3});
    }
    EXPECT_EQ(other.program()->operands.size(), between == 63 ? 64U : 66U);
  }
}

TEST_F(RepeatedInstruction, IsOneOfTheLastEightOfItsLine) {
  for (const int columns : {8, 9}) {
    Builder other("columns", load_architecture("trn2"));
    const View tile = other.sbuf("tile", {128, 64}, kFloat);
    other.set_source_line("k.py:1");
    for (int i = 0; i < 2 * columns; ++i) other.emit(Memset{tile.slice(1, i % columns, 1), 3});
    EXPECT_EQ(other.program()->operands.size(), columns == 8 ? 8U : 18U);
  }
}

TEST_F(RepeatedInstruction, ChangesNeitherTheListingNorTheTime) {
  std::shared_ptr<const Program> programs[2];
  for (const bool shares : {false, true}) {
    Builder other("same", load_architecture("trn2"), TilePlacement::kAutomatic);
    const View a = other.sbuf("a", {128, 64}, kFloat), b = other.sbuf("b", {128, 64}, kFloat);
    const View out = other.argument("out", {128, 64}, kFloat);
    for (int i = 0; i < 12; ++i) {
      if (shares) other.set_source_line("k.py:1");
      other.emit(Memset{a.slice(1, i % 4 * 8, 8), 1});
      other.emit(TensorCopy{b.slice(1, i % 4 * 8, 8), a.slice(1, i % 4 * 8, 8)});
    }
    other.emit(DmaCopy{out, b});
    programs[shares ? 1 : 0] = other.finish();
  }
  EXPECT_LT(programs[1]->operands.size(), programs[0]->operands.size());
  EXPECT_EQ(listing(*programs[0]), listing(*programs[1]));
  EXPECT_EQ(simulate(*programs[0]).body.count, simulate(*programs[1]).body.count);
}

}  // namespace
}  // namespace neuron_sim
