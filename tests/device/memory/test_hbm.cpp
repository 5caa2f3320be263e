#include "device/memory/hbm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/base/errors.h"
#include "device/memory/hbm_heap.h"

namespace neuron_sim {
namespace {

constexpr Bytes kSize{int64_t{64} << 20};

TEST(HbmHeap, RoundsUpToTheAlignmentAndCountsBothSizes) {
  HbmHeap heap(Bytes{4096}, [](int64_t, int64_t) {});
  ASSERT_EQ(heap.allocate(Bytes{1}), 0);
  ASSERT_EQ(heap.allocate(Bytes{513}), 512);
  EXPECT_EQ(heap.size_of(512).count, 1024);
  EXPECT_EQ(heap.statistics().bytes.current, 1536);
  EXPECT_EQ(heap.statistics().requested_bytes.current, 514);
  EXPECT_EQ(heap.statistics().blocks.current, 2);
}

TEST(HbmHeap, FillsToTheLastByteAndNotBeyond) {
  HbmHeap heap(Bytes{1024}, [](int64_t, int64_t) {});
  EXPECT_FALSE(heap.allocate(Bytes{1025}));
  EXPECT_FALSE(heap.allocate(Bytes{INT64_MAX}));
  ASSERT_EQ(heap.allocate(Bytes{1024}), 0);
  EXPECT_FALSE(heap.allocate(Bytes{1}));
  EXPECT_EQ(heap.statistics().failures, 3);
  heap.free(0);
  EXPECT_EQ(heap.allocate(Bytes{1024}), 0);
}

TEST(HbmHeap, CachedSmallBlocksAreMergedWhenALargeOneNeedsTheirSpace) {
  HbmHeap heap(Bytes{8 * 512}, [](int64_t, int64_t) {});
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(heap.allocate(Bytes{512}));
  for (int i = 0; i < 8; ++i) heap.free(i * 512);
  EXPECT_EQ(heap.allocate(Bytes{8 * 512}), 0);
}

TEST(HbmHeap, PrefersTheSmallestFreeBlockThatFits) {
  constexpr int64_t kLarge = 1 << 20;
  HbmHeap heap(Bytes{16 * kLarge}, [](int64_t, int64_t) {});
  const auto wide = heap.allocate(Bytes{3 * kLarge});
  ASSERT_TRUE(heap.allocate(Bytes{512}));
  const auto narrow = heap.allocate(Bytes{kLarge});
  ASSERT_TRUE(heap.allocate(Bytes{512}));
  heap.free(*wide);
  heap.free(*narrow);
  EXPECT_EQ(heap.allocate(Bytes{kLarge}), *narrow);
}

TEST(HbmHeap, FreeingTwiceOrInTheMiddleIsABug) {
  HbmHeap heap(Bytes{4096}, [](int64_t, int64_t) {});
  ASSERT_EQ(heap.allocate(Bytes{2048}), 0);
  EXPECT_THROW(heap.free(512), SimulatorBug);
  heap.free(0);
  EXPECT_THROW(heap.free(0), SimulatorBug);
  EXPECT_THROW(heap.size_of(0), SimulatorBug);
}

TEST(HbmHeap, ReleasesOnlyFreeRanges) {
  std::vector<std::pair<int64_t, int64_t>> released;
  HbmHeap heap(Bytes{1 << 20},
               [&](int64_t offset, int64_t bytes) { released.emplace_back(offset, bytes); });
  ASSERT_TRUE(heap.allocate(Bytes{128 << 10}));
  ASSERT_TRUE(heap.allocate(Bytes{128 << 10}));
  heap.free(0);
  heap.release_free_memory();
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0], (std::pair<int64_t, int64_t>{0, 128 << 10}));
  heap.release_free_memory();
  EXPECT_EQ(released.size(), 1u);  // nothing new became free
}

TEST(HbmHeap, RandomUseNeverOverlapsAndEndsEmpty) {
  HbmHeap heap(Bytes{1 << 22}, [](int64_t, int64_t) {});
  std::mt19937 random(1);
  std::map<int64_t, int64_t> live;  // oracle: offset -> rounded size
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      const int64_t bytes = 1 + random() % (random() % 8 == 0 ? 200000 : 3000);
      const auto offset = heap.allocate(Bytes{bytes});
      if (!offset) continue;
      const int64_t size = (bytes + 511) / 512 * 512;
      const auto next = live.lower_bound(*offset);
      ASSERT_EQ(*offset % 512, 0);
      ASSERT_LE(*offset + size, 1 << 22);
      if (next != live.end()) {
        ASSERT_LE(*offset + size, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *offset);
      }
      live[*offset] = size;
    } else {
      auto victim = std::next(live.begin(), random() % live.size());
      heap.free(victim->first);
      live.erase(victim);
    }
  }
  for (const auto& [offset, size] : live) heap.free(offset);
  EXPECT_EQ(heap.statistics().bytes.current, 0);
  EXPECT_EQ(heap.allocate(Bytes{1 << 22}), 0);
}

TEST(Hbm, TheBackingIsAtAConstantDistanceAndWritable) {
  Hbm memory(2, kSize, "trn2");
  auto* first = static_cast<std::byte*>(memory.allocate(0, Bytes{100}));
  auto* second = static_cast<std::byte*>(memory.allocate(1, Bytes{100}));
  EXPECT_EQ(memory.backing(first) - first, memory.backing(second + 99) - (second + 99));
  std::memset(memory.backing(second), 7, 100);
  EXPECT_EQ(static_cast<int>(*memory.backing(second + 99)), 7);
  EXPECT_EQ(memory.device_of(first + 99), 0);
  EXPECT_EQ(memory.device_of(second), 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 512, 0u);
  memory.free(first);
  memory.free(second);
}

TEST(Hbm, ZeroBytesIsANullPointer) {
  Hbm memory(1, kSize, "trn2");
  EXPECT_EQ(memory.allocate(0, Bytes{0}), nullptr);
  memory.free(nullptr);
  EXPECT_EQ(memory.statistics(0).blocks.added, 0);
}

TEST(Hbm, ForeignPointersAreNotOwned) {
  Hbm memory(1, kSize, "trn2");
  int local = 0;
  const void* device = memory.allocate(0, Bytes{8});
  EXPECT_TRUE(memory.owns(device));
  EXPECT_FALSE(memory.owns(&local));
  EXPECT_FALSE(memory.owns(nullptr));
  EXPECT_FALSE(memory.owns(memory.backing(device)));
  EXPECT_THROW(memory.backing(&local), SimulatorBug);
  EXPECT_THROW(memory.backing(nullptr), SimulatorBug);
  EXPECT_THROW(memory.device_of(&local), SimulatorBug);
  EXPECT_THROW(memory.free(&local), SimulatorBug);
  EXPECT_THROW(memory.allocate(1, Bytes{8}), SimulatorBug);
}

TEST(Hbm, OutOfMemoryNamesEverythingAndLeavesTheRestUsable) {
  Hbm memory(1, kSize, "trn7");
  void* half = memory.allocate(0, Bytes{kSize.count / 2});
  try {
    memory.allocate(0, Bytes{kSize.count / 2 + 1});
    FAIL() << "the second half does not fit";
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    const std::string sentence = error.what();
    for (const char* part : {"33554433 bytes", "device 0", "67108864", "33554432", "trn7"}) {
      EXPECT_NE(sentence.find(part), std::string::npos) << part << " in: " << sentence;
    }
  }
  void* rest = memory.allocate(0, Bytes{kSize.count / 2});
  memory.free(half);
  memory.free(rest);
  EXPECT_EQ(memory.statistics(0).bytes.peak, kSize.count);
  memory.reset_peak(0);
  EXPECT_EQ(memory.statistics(0).bytes.peak, 0);
}

TEST(Hbm, ReleasedPagesReadAsFreshOnes) {
  Hbm memory(1, kSize, "trn2");
  constexpr int64_t kLarge = 8 << 20;
  void* block = memory.allocate(0, Bytes{kLarge});
  void* neighbour = memory.allocate(0, Bytes{512});
  std::memset(memory.backing(block), 1, kLarge);
  std::memset(memory.backing(neighbour), 2, 512);
  const std::byte* inside = memory.backing(block) + kLarge / 2;
  memory.free(block);
  memory.release_free_memory();
  EXPECT_EQ(static_cast<int>(*inside), 0);
  EXPECT_EQ(static_cast<int>(*memory.backing(neighbour)), 2);
  memory.free(neighbour);
}

TEST(Hbm, ThreadsMayAllocateAndFreeAtOnce) {
  Hbm memory(2, kSize, "trn2");
  const auto work = [&](int device, unsigned char mark) {
    std::mt19937 random(mark);
    for (int step = 0; step < 3000; ++step) {
      const int64_t bytes = 1 + random() % 5000;
      void* block = memory.allocate(device, Bytes{bytes});
      std::memset(memory.backing(block), mark, bytes);
      EXPECT_EQ(static_cast<unsigned char>(memory.backing(block)[bytes - 1]), mark);
      memory.free(block);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i % 2, static_cast<unsigned char>(i + 1));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.statistics(0).blocks.current, 0);
  EXPECT_EQ(memory.statistics(1).blocks.added, 6000);
}

TEST(Hbm, MoreThanTheAddressSpaceIsHalvedUntilItFits) {
  testing::internal::CaptureStderr();
  Hbm memory(2, Bytes{int64_t{1} << 47}, "trn2");
  const std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_NE(warning.find("does not grant"), std::string::npos) << warning;
  EXPECT_LT(memory.capacity().count, int64_t{1} << 47);
  void* block = memory.allocate(1, Bytes{16});
  *memory.backing(block) = std::byte{3};
  memory.free(block);
}

TEST(HbmDeathTest, TheHostCannotAccessADevicePointer) {
  Hbm memory(1, kSize, "trn2");
  auto* device = static_cast<volatile unsigned char*>(memory.allocate(0, Bytes{16}));
  EXPECT_DEATH(device[0] = 1, "");
}

}  // namespace
}  // namespace neuron_sim
