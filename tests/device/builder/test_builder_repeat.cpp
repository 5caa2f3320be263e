#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

constexpr Dtype kFloat = Dtype::kFloat32;
using Substitutes = std::vector<Builder::Substitute>;

/// Instruction 0 copies y to x at line k.py:1.
struct BuilderRepeat : testing::Test {
  BuilderRepeat() {
    builder.set_source_line("k.py:1");
    builder.emit(TensorCopy{x, y});
  }
  View tile(const std::vector<int64_t>& shape = {128, 64}, Dtype dtype = kFloat) {
    return builder.sbuf("tile", shape, dtype);
  }
  bool repeat(const View& dst, const View& src, uint32_t number = 0) {
    return builder.repeat(number, Substitutes{{&x, &dst}, {&y, &src}}, true);
  }
  const Program& program() { return *builder.program(); }

  Builder builder{"repeat", load_architecture("trn2"), TilePlacement::kAutomatic};
  View x = builder.sbuf("x", {128, 64}, kFloat), y = builder.sbuf("y", {128, 64}, kFloat);
};

TEST_F(BuilderRepeat, OnTheSameTilesSharesOperandsAttributesAndDemand) {
  const View again = x.slice(1, 0, 64);
  EXPECT_TRUE(repeat(x, y));
  EXPECT_TRUE(repeat(again, y));
  ASSERT_EQ(program().instructions.size(), 3U);
  EXPECT_EQ(program().operands.size(), 2U);
  EXPECT_EQ(program().demands.size(), 1U);
  EXPECT_EQ(program().attributes.size(), program().instructions[0].attribute_count);
}

TEST_F(BuilderRepeat, OnOtherTilesIsWhatAppendMakes) {
  const View a = tile(), b = tile();
  EXPECT_TRUE(repeat(a, b));
  EXPECT_TRUE(repeat(y, x));
  builder.set_source_line("k.py:2");  // nothing to repeat there
  builder.emit(TensorCopy{a, b});
  builder.emit(TensorCopy{y, x});
  ASSERT_EQ(program().operands.size(), 10U);
  EXPECT_EQ(program().operands[2].tile, a.tile());
  EXPECT_EQ(program().operands[3].tile, b.tile());
  for (size_t i = 2; i < 6; ++i) {
    const Operand &one = program().operands[i], &other = program().operands[i + 4];
    EXPECT_EQ(one.tile, other.tile);
    EXPECT_EQ(one.direction, other.direction);
    EXPECT_EQ(one.partitions, other.partitions);
    EXPECT_EQ(one.free[0].size, other.free[0].size);
    EXPECT_TRUE(one.region == other.region);
  }
}

TEST_F(BuilderRepeat, AppendsNothingOfAnotherForm) {
  const View wide = tile({128, 128}), low = tile({64, 64}), integers = tile({128, 64}, kFloat);
  const View a = tile(), b = tile();
  const View others[] = {wide,
                         wide.slice(1, 0, 64),
                         low,
                         integers.reinterpret(Dtype::kInt32),
                         a.slice(1, 0, 32),
                         a.slice(0, 0, 64),
                         a.slice(1, 0, 32, 2),
                         a.expand(1),
                         y};  // shares a tile with the source
  for (const View& other : others) EXPECT_FALSE(repeat(other, y)) << other.describe();
  EXPECT_FALSE(repeat(a, a));
  const View ring = builder.sbuf("ring", {128, 64}, kFloat, 2);
  EXPECT_FALSE(repeat(ring.turn(0), y));
  EXPECT_FALSE(repeat(a.at_register(builder.allocate_register(), 4), y));
  const View hbm = builder.scratch("hbm", {128, 64}, kFloat);
  EXPECT_FALSE(repeat(hbm, y));
  EXPECT_EQ(program().instructions.size(), 1U);
  EXPECT_EQ(program().operands.size(), 2U);
  EXPECT_TRUE(repeat(a, b));
}

TEST_F(BuilderRepeat, OfATileAtAnotherAddressIsLeftToAppend) {
  const View placed = builder.place(MemoryKind::kSbuf, "placed", {128, 64}, kFloat, 4096);
  EXPECT_FALSE(repeat(placed, y));
  builder.emit(TensorCopy{placed, y});
  EXPECT_EQ(program().operands[2].offset, 4096);
  EXPECT_EQ(program().operands[2].region.low, 4096);
}

TEST_F(BuilderRepeat, BelongsToTheLineTheLoopAndTheCore) {
  builder.set_source_line("k.py:2");
  EXPECT_FALSE(repeat(x, y));
  builder.set_source_line("");
  EXPECT_FALSE(repeat(x, y));
  builder.set_source_line("k.py:1");
  builder.loop(4, [&](const Affine&) {
    EXPECT_FALSE(repeat(x, y));
    builder.emit(TensorCopy{x, y});
    EXPECT_TRUE(repeat(x, y, 1));
  });
  builder.loop(4, [&](const Affine&) { EXPECT_FALSE(repeat(x, y, 1)); });
  EXPECT_TRUE(repeat(x, y));
  builder.core(1, [&] { EXPECT_FALSE(repeat(x, y)); });
}

TEST_F(BuilderRepeat, OfALoopHasTheSameSteps) {
  builder.loop(4, [&](const Affine& i) {
    const View before = x.slice(1, i * 8, 8), source = y.slice(1, i * 8, 8);
    builder.emit(TensorCopy{before, source});
    const View a = tile(), same = a.slice(1, i * 8, 8), other = a.slice(1, i * 4, 8);
    const auto repeats = [&](const View& dst) {
      return builder.repeat(1, Substitutes{{&before, &dst}, {&source, &source}}, true);
    };
    EXPECT_FALSE(repeats(other));
    EXPECT_TRUE(repeats(same));
  });
  EXPECT_EQ(program().operands[4].tile, x.tile() + 2);
  EXPECT_EQ(program().operands[4].term_count, 1);
  EXPECT_EQ(program().operands[4].first_term, program().operands[2].first_term);
}

TEST_F(BuilderRepeat, OfAnIndirectOperandIsLeftToAppend) {
  const View rows = tile({128, 1}, Dtype::kInt32);
  const View table = builder.argument("table", {512, 64}, kFloat);
  const View gathered = table.indirect(512, 128);
  builder.emit(DmaCopy{.dst = x, .src = gathered, .index = rows});
  EXPECT_FALSE(
      builder.repeat(1, Substitutes{{&x, &x}, {&gathered, &gathered}, {&rows, &rows}}, true));
}

TEST_F(BuilderRepeat, IsObservedAsEveryInstruction) {
  int seen = 0;
  builder.observe([&] { ++seen; });
  repeat(x, y);
  EXPECT_EQ(seen, 1);
}

/// Products with accumulate=None, or with a mode, into the tiles `sums`.
struct ProductRepeat : testing::Test {
  View sum() { return builder.psum("sum", {16, 64}); }
  void first(const View& dst, std::optional<bool> accumulate) {
    builder.set_source_line("k.py:1");
    before = dst;
    builder.emit(
        NcMatmul{.dst = dst, .stationary = weights, .moving = moving, .accumulate = accumulate});
  }
  bool repeat(uint32_t number, const View& dst, bool has_mode) {
    const Substitutes views{{&before, &dst}, {&weights, &weights}, {&moving, &moving}};
    return builder.repeat(number, views, has_mode);
  }
  /// The accumulation of the last product.
  Accumulate mode() {
    const Program& program = *builder.program();
    return program.attributes_of(program.instructions.back())[0].as<Accumulate>();
  }

  Builder builder{"products", load_architecture("trn2"), TilePlacement::kAutomatic};
  View weights = builder.sbuf("weights", {32, 16}, Dtype::kBfloat16);
  View moving = builder.sbuf("moving", {32, 64}, Dtype::kBfloat16);
  View before;
};

TEST_F(ProductRepeat, WithoutAModeIsTheFirstOfATileAgainAndNoLaterOne) {
  const View a = sum(), b = sum();
  first(a, std::nullopt);
  EXPECT_FALSE(repeat(0, a, false));  // which adds
  EXPECT_TRUE(repeat(0, b, false));
  EXPECT_EQ(mode(), Accumulate::kOverwrite);
  EXPECT_FALSE(repeat(0, b, false));  // the repetition was recorded
  first(a, std::nullopt);
  EXPECT_EQ(mode(), Accumulate::kAdd);
  EXPECT_TRUE(repeat(2, b, false));
  EXPECT_EQ(mode(), Accumulate::kAdd);
  EXPECT_FALSE(repeat(2, sum(), false));  // nothing to add to
}

TEST_F(ProductRepeat, WithAModeKeepsItAndIsRecorded) {
  const View a = sum(), b = sum();
  first(a, true);
  EXPECT_TRUE(repeat(0, b, true));
  EXPECT_EQ(mode(), Accumulate::kAdd);
  first(b, std::nullopt);
  EXPECT_EQ(mode(), Accumulate::kAdd);
}

TEST_F(ProductRepeat, ThatCouldBeRefusedIsLeftToAppend) {
  const View a = sum(), b = sum(), half = b.slice(1, 0, 32);
  first(a, std::nullopt);
  builder.set_source_line("k.py:2");
  builder.emit(NcMatmul{.dst = half, .stationary = weights, .moving = moving.slice(1, 0, 32)});
  builder.set_source_line("k.py:1");
  EXPECT_FALSE(repeat(0, b, false));  // a part of it was written before and a part was not
  EXPECT_EQ(builder.program()->instructions.size(), 2U);
}

}  // namespace
}  // namespace neuron_sim
