#include "device/analysis/overwrites.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

const Architecture& trn2() { return load_architecture("trn2"); }

View placed(Builder& builder, const char* label, std::vector<int64_t> shape, int64_t address) {
  return builder.place(MemoryKind::kSbuf, label, shape, Dtype::kFloat32, address);
}

TEST(Overwrites, NamesBothTilesAndTheTwoInstructions) {
  Builder builder("overwrites", trn2());
  const View a = placed(builder, "a", {128, 8}, 0);
  const View b = placed(builder, "b", {128, 8}, 28);  // the last element of a
  const View c = placed(builder, "c", {128, 8}, 64);
  builder.emit(Memset{a, 1});
  builder.emit(Memset{b, 2});
  builder.emit(TensorCopy{c.slice(1, 0, 7), a.slice(1, 0, 7)});  // the bytes that a kept
  builder.emit(TensorCopy{c, a});
  builder.emit(TensorCopy{c, a});  // the pair is named once
  const auto reads = overwritten_reads(*builder.finish());
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].instruction, 3u);
  EXPECT_EQ(reads[0].operand, 1);
  EXPECT_EQ(reads[0].tile, a.tile());
  EXPECT_EQ(reads[0].other, b.tile());
  EXPECT_EQ(reads[0].overwritten, 1u);
}

TEST(Overwrites, TilesThatAreWrittenAgainBeforeTheyAreReadAreNone) {
  Builder builder("in turns", trn2());
  const View a = placed(builder, "a", {64, 8}, 0), b = placed(builder, "b", {64, 8}, 0);
  const View c = placed(builder, "c", {64, 8}, 32);
  builder.loop(5, [&](const Affine&) {
    for (const View& tile : {a, b}) {
      builder.emit(Memset{tile, 1});
      builder.emit(TensorCopy{c, tile});
    }
  });
  EXPECT_TRUE(overwritten_reads(*builder.finish()).empty());
}

TEST(Overwrites, AnIterationMayOverwriteWhatTheNextOneReads) {
  Builder builder("next iteration", trn2());
  const View a = placed(builder, "a", {64, 8}, 0), b = placed(builder, "b", {64, 8}, 0);
  const View c = placed(builder, "c", {64, 8}, 32);
  builder.emit(Memset{a, 1});
  builder.loop(2, [&](const Affine&) {
    builder.emit(TensorCopy{c, a});
    builder.emit(Memset{b, 2});
  });
  const auto reads = overwritten_reads(*builder.finish());
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].instruction, 1u);
  EXPECT_EQ(reads[0].overwritten, 2u);
}

TEST(Overwrites, OtherPartitionsAndOtherMemoriesShareNothing) {
  Builder builder("apart", trn2());
  const View a = placed(builder, "a", {32, 8}, 0);
  const View b = builder.place(MemoryKind::kSbuf, "b", {32, 8}, Dtype::kFloat32, 0, 32);
  const View p = builder.place(MemoryKind::kPsum, "p", {32, 8}, Dtype::kFloat32, 0);
  for (const View& tile : {a, b, p}) builder.emit(Memset{tile, 1});
  builder.emit(TensorCopy{p, a});
  builder.emit(TensorCopy{a, b});
  EXPECT_TRUE(overwritten_reads(*builder.finish()).empty());
}

TEST(Overwrites, BytesThatTheTileNeverWroteAreNone) {
  for (const int64_t rows : {96, 97}) {
    Builder builder("ragged rows", trn2());
    const View earlier = placed(builder, "earlier", {128, 8}, 0);
    const View a = placed(builder, "a", {128, 8}, 0), c = placed(builder, "c", {128, 8}, 32);
    builder.emit(Memset{a.slice(0, 0, rows), 1});
    builder.emit(Memset{earlier.slice(0, 96, 32), 2});
    builder.emit(TensorCopy{c, a});
    EXPECT_EQ(overwritten_reads(*builder.finish()).size(), rows == 97 ? 1u : 0u);
  }
}

TEST(Overwrites, ATileThatReadsAnotherThroughItsOwnNameIsNone) {
  Builder builder("view", trn2());
  const View a = placed(builder, "a", {32, 8}, 0), same = placed(builder, "same", {32, 8}, 0);
  const View c = placed(builder, "c", {32, 8}, 32);
  builder.emit(Memset{a, 1});
  builder.emit(TensorCopy{c, same});
  EXPECT_TRUE(overwritten_reads(*builder.finish()).empty());
}

}  // namespace
}  // namespace neuron_sim
