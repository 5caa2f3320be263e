#include "device/builder/finish_program.h"

#include <gtest/gtest.h>

#include "device/analysis/definedness.h"
#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

TEST(FinishProgram, GroupsTilesThatShareBytesAndTensorsThatNeedOrder) {
  Builder builder("groups", trn2());
  const Dtype f = Dtype::kFloat32;
  const View read = builder.argument("read", {4, 128, 8}, f);
  const View once = builder.argument("once", {4, 128, 8}, f);
  const View twice = builder.argument("twice", {128, 8}, f);
  const View both = builder.argument("both", {4, 128, 8}, f);
  const View a = builder.place(MemoryKind::kSbuf, "a", {128, 8}, f, 0);
  const View b = builder.place(MemoryKind::kSbuf, "b", {128, 8}, f, 28);
  const View c = builder.place(MemoryKind::kSbuf, "c", {128, 8}, f, 60);
  builder.loop(4, [&](const Affine& i) {
    builder.emit(DmaCopy{.dst = a, .src = read.select(0, i)});
    builder.emit(DmaCopy{.dst = once.select(0, i), .src = a});
    builder.emit(DmaCopy{.dst = twice, .src = b});
    builder.emit(DmaCopy{.dst = both.select(0, i), .src = c});
    builder.emit(DmaCopy{.dst = c, .src = both.select(0, i)});
  });
  const auto program = builder.finish();
  const auto group = [&](TileId tile) {
    return program->tiles[static_cast<size_t>(tile)].hazard_group;
  };
  EXPECT_EQ(group(read.tile()), -1);
  EXPECT_EQ(group(once.tile()), -1);
  EXPECT_GE(group(twice.tile()), 0);
  EXPECT_GE(group(both.tile()), 0);
  EXPECT_EQ(group(a.tile()), group(b.tile()));
  EXPECT_NE(group(b.tile()), group(c.tile()));
  EXPECT_TRUE(program->arguments[0].read && !program->arguments[0].written);
  EXPECT_TRUE(!program->arguments[1].read && program->arguments[1].written);
  EXPECT_TRUE(program->arguments[3].read && program->arguments[3].written);
}

TEST(FinishProgram, OrdersStoresOfWhichAnyTwoWriteAByte) {
  struct {
    std::vector<int64_t> columns;  ///< where stores of 8 columns begin
    bool are_ordered;
  } const cases[] = {{{0, 8, 16, 24}, false}, {{24, 0, 16, 8}, false}, {{0, 8, 0, 8}, true},
                     {{0, 7, 24, 16}, true},  {{0, 8, 24, 17}, true},  {{24, 0, 8, 15}, true}};
  for (const auto& [columns, are_ordered] : cases) {
    Builder builder("stores", trn2());
    const View out = builder.argument("out", {128, 64}, Dtype::kFloat32);
    const View tile = builder.sbuf("tile", {128, 8}, Dtype::kFloat32);
    for (const int64_t first : columns) {
      builder.emit(DmaCopy{.dst = out.slice(1, first, 8), .src = tile});
    }
    const auto program = builder.finish();
    const int32_t group = program->tiles[static_cast<size_t>(out.tile())].hazard_group;
    EXPECT_EQ(group >= 0, are_ordered) << testing::PrintToString(columns);
    EXPECT_TRUE(program->arguments[0].written);
  }
}

TEST(FinishProgram, WidensMatmulOperandsOfOneDtypeOnly) {
  Builder builder("widened", trn2());
  const Dtype f = Dtype::kBfloat16;
  const View plain = builder.sbuf("plain", {128, 64}, f);
  const View other = builder.sbuf("other dtype", {128, 64}, f);
  const View unused = builder.sbuf("unused", {128, 64}, f);
  const View wide = builder.sbuf("fp32", {128, 64}, Dtype::kFloat32);
  const View sum = builder.psum("sum", {64, 64});
  builder.emit(Memset{other.reinterpret(Dtype::kFloat16), 1});
  builder.emit(NcMatmul{.dst = sum, .stationary = plain, .moving = other});
  builder.emit(NcMatmul{.dst = sum, .stationary = wide, .moving = wide});
  builder.emit(Memset{unused, 1});
  const auto program = builder.finish();
  const auto widened = [&](const View& view) {
    return program->tiles[static_cast<size_t>(view.tile())].widened;
  };
  EXPECT_TRUE(widened(plain));
  EXPECT_FALSE(widened(other));
  EXPECT_FALSE(widened(unused));
  EXPECT_FALSE(widened(wide));
}

TEST(FinishProgram, FindsThePeriodOfRings) {
  Builder builder("rings", trn2());
  const View four = builder.sbuf("four", {1, 1}, Dtype::kFloat32, 4);
  const View six = builder.sbuf("six", {1, 1}, Dtype::kFloat32, 6);
  builder.loop(9, [&](const Affine& i) {
    builder.emit(Memset{four.turn(i * 2), 0});
    builder.loop(5, [&](const Affine& j) { builder.emit(Memset{six.turn(i * 3 + j), 0}); });
  });
  const auto program = builder.finish();
  EXPECT_EQ(program->loops[0].period, 2);  // 4 / gcd(4, 2) = 2 and 6 / gcd(6, 3) = 2
  EXPECT_EQ(program->loops[1].period, 6);
}

TEST(Definedness, FindsTheFirstUndefinedReadOfEachTile) {
  Builder builder("undefined", trn2());
  const View a = builder.sbuf("a", {128, 8}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {128, 8}, Dtype::kFloat32);
  builder.loop(7, [&](const Affine& i) { builder.emit(Memset{a.slice(1, i, 1), 0}); });
  builder.emit(TensorCopy{b.slice(1, 0, 7), a.slice(1, 0, 7)});
  builder.set_source_line("kernel.py:3");
  builder.emit(TensorCopy{b.slice(1, 7, 1), a.slice(1, 7, 1)});
  builder.emit(TensorCopy{b, b});
  const auto program = builder.finish();
  const auto reads = undefined_reads(*program);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].instruction, 2u);
  EXPECT_EQ(describe(*program, reads[0]),
            "'tensor_copy' reads bytes of operand 'src' (tile 'a') that nothing wrote.\n"
            "  at kernel.py:3");
}

TEST(Definedness, KeepsPartitionsApart) {
  const auto reads = [](int64_t first, int64_t count, int64_t column, int64_t columns) {
    Builder builder("bands", trn2());
    const View a = builder.sbuf("a", {128, 6}, Dtype::kFloat32);
    const View b = builder.sbuf("b", {128, 6}, Dtype::kFloat32);
    builder.emit(Memset{b, 0});
    builder.emit(Memset{a.slice(0, 0, 64), 0});
    builder.emit(Memset{a.slice(0, 64, 32).slice(1, 0, 3, 2), 0});  // elements 0, 2 and 4
    builder.emit(Memset{a.slice(0, 32, 32).slice(1, 1, 5), 0});     // once more
    builder.emit(TensorCopy{b.slice(0, 0, count).slice(1, 0, columns),
                            a.slice(0, first, count).slice(1, column, columns)});
    return undefined_reads(*builder.finish()).size();
  };
  EXPECT_EQ(reads(0, 64, 0, 6), 0u);
  EXPECT_EQ(reads(32, 32, 0, 6), 0u);
  EXPECT_EQ(reads(0, 96, 0, 1), 0u);
  EXPECT_EQ(reads(64, 32, 4, 1), 0u);
  EXPECT_EQ(reads(64, 32, 0, 2), 1u);
  EXPECT_EQ(reads(64, 1, 5, 1), 1u);
  EXPECT_EQ(reads(64, 64, 0, 1), 1u);
  EXPECT_EQ(reads(96, 1, 0, 1), 1u);
}

TEST(Definedness, TakesRegisterAddressesOnTrust) {
  Builder builder("registers", trn2());
  const View a = builder.sbuf("a", {1, 8}, Dtype::kFloat32);
  const View b = builder.sbuf("b", {1, 8}, Dtype::kFloat32);
  builder.emit(Memset{a.slice(1, 0, 1).at_register(0, 4), 0});
  builder.emit(TensorCopy{b, a});
  builder.emit(TensorCopy{a.slice(1, 0, 1), b.slice(1, 7, 1).at_register(0, -4)});
  EXPECT_TRUE(undefined_reads(*builder.finish()).empty());
}

}  // namespace
}  // namespace neuron_sim
