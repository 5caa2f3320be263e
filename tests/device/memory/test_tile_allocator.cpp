#include "device/memory/tile_allocator.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

Architecture small() {
  Architecture architecture = load_architecture("trn2");
  architecture.limits.sbuf_usable = {1000};
  return architecture;
}

TEST(TileAllocator, PlacesAtTheFirstGapThatFits) {
  const Architecture architecture = small();
  TileAllocator sbuf(MemoryKind::kSbuf, architecture);
  EXPECT_EQ(sbuf.allocate("a", 100, 1), 0);   // 128 bytes
  EXPECT_EQ(sbuf.allocate("b", 64, 2), 128);  // 128 bytes
  EXPECT_EQ(sbuf.allocate("c", 1, 1), 256);
  EXPECT_EQ(sbuf.used(), 320);
  sbuf.release(0);
  EXPECT_EQ(sbuf.allocate("d", 129, 1), 320);  // the gap of 128 bytes is too small
  EXPECT_EQ(sbuf.allocate("e", 128, 1), 0);
  sbuf.release(128);
  EXPECT_EQ(sbuf.allocate("f", 64, 1), 128);
  EXPECT_EQ(sbuf.allocate("g", 64, 1), 192);
  EXPECT_EQ(sbuf.peak(), 512);
}

TEST(TileAllocator, FillsTheMemoryToItsLastByte) {
  const Architecture architecture = small();
  TileAllocator sbuf(MemoryKind::kSbuf, architecture);
  EXPECT_EQ(sbuf.allocate("all", 1000, 1), 0);
  EXPECT_EQ(sbuf.used(), 1000);
  EXPECT_EQ(sbuf.peak(), 1000);
  sbuf.release(0);
  EXPECT_THROW(sbuf.allocate("more", 1001, 1), KernelError);
  EXPECT_EQ(sbuf.used(), 0);
}

TEST(TileAllocator, ListsTheLiveTilesWhenMemoryIsExhausted) {
  const Architecture architecture = small();
  TileAllocator sbuf(MemoryKind::kSbuf, architecture);
  sbuf.allocate("left", 500, 1);
  sbuf.allocate("right", 64, 1);
  EXPECT_EQ(sbuf.allocate("fits", 424, 1), 576);
  sbuf.release(576);
  try {
    sbuf.allocate("large", 425, 1);
    FAIL();
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    EXPECT_EQ(std::string(error.what()),
              "out of memory in sbuf: tile 'large' needs 425 bytes per partition, 576 of 1000 are "
              "in use on trn2. Live tiles: 'left' (512 bytes at 0), 'right' (64 bytes at 512).");
  }
}

TEST(TileAllocator, GivesEveryPsumTileWholeBanks) {
  const Architecture& architecture = load_architecture("trn2");
  TileAllocator psum(MemoryKind::kPsum, architecture);
  EXPECT_EQ(psum.pitch(1), 2048);
  EXPECT_EQ(psum.pitch(2048), 2048);
  EXPECT_EQ(psum.pitch(2049), 4096);
  EXPECT_EQ(psum.allocate("ring", 64, 7), 0);
  EXPECT_EQ(psum.allocate("last", 2048, 1), 7 * 2048);
  EXPECT_THROW(psum.allocate("ninth", 1, 1), KernelError);
  psum.release(7 * 2048);
  EXPECT_THROW(psum.allocate("two banks", 2049, 1), KernelError);
  EXPECT_NO_THROW(psum.allocate("one bank", 2048, 1));
}

TEST(TileAllocator, ChecksDirectPlacementsAgainstTheMemory) {
  const Architecture& architecture = load_architecture("trn2");
  TileAllocator sbuf(MemoryKind::kSbuf, architecture);
  const int64_t capacity = sbuf.capacity();
  EXPECT_NO_THROW(sbuf.check_direct("t", capacity - 30, 10, 3));
  EXPECT_THROW(sbuf.check_direct("t", capacity - 29, 10, 3), KernelError);
  EXPECT_NO_THROW(sbuf.check_direct("t", 1, 10, 1));
  EXPECT_THROW(sbuf.check_direct("t", -1, 10, 1), KernelError);
  TileAllocator psum(MemoryKind::kPsum, architecture);
  EXPECT_NO_THROW(psum.check_direct("t", 2048, 2048, 7));
  try {
    psum.check_direct("t", 2052, 4, 1);
    FAIL();
  } catch (const KernelError& error) {
    EXPECT_EQ(std::string(error.what()),
              "direct allocation of 't' in psum: address 2052 is not the start of a bank of 2048 "
              "bytes on trn2.");
  }
}

TEST(TileAllocator, ReportsTheReleaseOfADeadTileAsOurBug) {
  TileAllocator psum(MemoryKind::kPsum, load_architecture("trn2"));
  psum.allocate("t", 4, 1);
  psum.release(0);
  EXPECT_THROW(psum.release(0), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
