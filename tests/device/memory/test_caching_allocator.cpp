#include "device/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

/// An allocator over 64 MiB, with a clock and ends of streams that a test sets.
class CachingAllocation : public testing::Test {
 protected:
  Hbm hbm{1, {64 * kMebibyte}, "test"};
  Picoseconds now{};
  std::map<int64_t, Picoseconds> ends;
  CachingAllocator memory{hbm,
                          0,
                          {[this] { return now; }, [this](Picoseconds time) { now = time; }},
                          [this](int64_t stream) { return ends[stream]; }};

  void* take(int64_t bytes, int64_t stream = 0) { return memory.allocate({bytes}, stream); }
};

TEST_F(CachingAllocation, AFreedBlockIsReusedByItsStreamOnly) {
  void* first = take(1000);
  memory.free(first);
  EXPECT_NE(take(1000, 1), first);
  EXPECT_EQ(take(1000), first);
}

TEST_F(CachingAllocation, BlocksAreSplitAndMergedAgain) {
  void* whole = take(20 * kMebibyte);
  memory.free(whole);
  void* front = take(5 * kMebibyte);
  void* back = take(5 * kMebibyte);
  EXPECT_EQ(front, whole);
  EXPECT_EQ(static_cast<std::byte*>(back) - static_cast<std::byte*>(front), 5 * kMebibyte);
  EXPECT_EQ(memory.statistics().segments.current, 1);
  EXPECT_EQ(memory.statistics().split_bytes, 10 * kMebibyte);
  memory.free(front);
  memory.free(back);
  EXPECT_EQ(memory.statistics().split_bytes, 0);
  EXPECT_EQ(take(20 * kMebibyte), whole);
}

TEST_F(CachingAllocation, SmallAndLargeBlocksHaveSegmentsOfTheirOwn) {
  take(CachingAllocator::kSmallBlock);
  EXPECT_EQ(memory.statistics().reserved_bytes.current, CachingAllocator::kSmallSegment);
  take(CachingAllocator::kSmallBlock + 1);
  EXPECT_EQ(memory.statistics().reserved_bytes.current,
            CachingAllocator::kSmallSegment + CachingAllocator::kLargeSegment);
}

TEST_F(CachingAllocation, ABlockThatAnotherStreamUsesIsReusedWhenThatHasEnded) {
  void* block = take(1000);
  memory.record_use(block, 7);
  ends[7] = {500};
  memory.free(block);
  EXPECT_EQ(memory.statistics().blocks.current, 0);
  EXPECT_EQ(memory.statistics().active_blocks.current, 1);
  now = {499};
  EXPECT_NE(take(1000), block);
  now = {500};
  EXPECT_EQ(take(1000), block);
}

/// Keeps what it is told.
class Recorder final : public MemoryRecorder {
 public:
  void prepare() override { ++prepared; }
  void add(int /*device*/, const MemoryEvent& event) override { events.push_back(event); }
  int prepared = 0;
  std::vector<MemoryEvent> events;
};

TEST_F(CachingAllocation, ARecorderHearsOfEveryAllocationFreeAndSegment) {
  using A = MemoryAction;
  static auto* const recorder = new Recorder;  // must live for ever
  memory.set_recorder(recorder);
  void* block = take(1000, 3);
  memory.record_use(block, 7);
  ends[7] = {500};
  memory.free(block);
  memory.release_cached();
  EXPECT_THROW(take(65 * kMebibyte), KernelError);
  memory.set_recorder(nullptr);
  take(10);
  const std::vector<A> wanted{A::kNewSegment, A::kAllocate,       A::kFree,
                              A::kFreed,      A::kReleaseSegment, A::kOutOfMemory};
  std::vector<A> heard;
  for (const MemoryEvent& event : recorder->events) heard.push_back(event.action);
  EXPECT_EQ(heard, wanted);
  EXPECT_EQ(recorder->prepared, 4);
  EXPECT_EQ(recorder->events[0].size, CachingAllocator::kSmallSegment);
  EXPECT_EQ(recorder->events[1].address, block);
  EXPECT_EQ(recorder->events[1].size, 1000);
  EXPECT_EQ(recorder->events[1].stream, 3);
  EXPECT_EQ(recorder->events[3].time, Picoseconds{500});
  EXPECT_EQ(recorder->events[5].available, 64 * kMebibyte);
}

TEST_F(CachingAllocation, SegmentsListTheirBlocksWithoutGaps) {
  void* first = take(1000);
  void* second = take(2000);
  void* third = take(3000);
  memory.record_use(second, 7);
  ends[7] = {500};
  memory.free(first);
  memory.free(second);
  const std::vector<MemorySegment> segments = memory.segments();
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_TRUE(segments[0].small);
  EXPECT_EQ(segments[0].size, CachingAllocator::kSmallSegment);
  const std::vector<MemoryBlock>& blocks = segments[0].blocks;
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0].state, MemoryBlock::State::kFree);
  EXPECT_EQ(blocks[1].state, MemoryBlock::State::kPendingFree);
  EXPECT_EQ(blocks[2].state, MemoryBlock::State::kAllocated);
  EXPECT_EQ(blocks[2].address, third);
  EXPECT_EQ(blocks[2].requested, 3000);
  EXPECT_EQ(blocks[3].state, MemoryBlock::State::kFree);
  for (size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].address,
              static_cast<const std::byte*>(blocks[i - 1].address) + blocks[i - 1].size);
  }
}

TEST_F(CachingAllocation, AUseOfTheBlocksOwnStreamDelaysNothing) {
  void* block = take(1000, 3);
  memory.record_use(block, 3);
  ends[3] = {500};
  memory.free(block);
  EXPECT_EQ(take(1000, 3), block);
}

TEST_F(CachingAllocation, FullMemoryGivesCachedSegmentsBackAndWaitsForUsers) {
  memory.free(take(30 * kMebibyte, 1));
  void* used = take(30 * kMebibyte, 2);
  memory.record_use(used, 5);
  ends[5] = {900};
  memory.free(used);
  EXPECT_NE(take(60 * kMebibyte, 0), nullptr);
  EXPECT_EQ(now, Picoseconds{900});
  EXPECT_EQ(memory.statistics().retries, 1);
  EXPECT_EQ(memory.statistics().segments.current, 1);
}

TEST_F(CachingAllocation, TheLastByteFitsAndOneMoreDoesNot) {
  void* all = take(64 * kMebibyte);
  ASSERT_NE(all, nullptr);
  try {
    take(1);
    FAIL() << "there was memory left";
  } catch (const KernelError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
    EXPECT_STREQ(error.what(),
                 "HBM out of memory: tried to allocate 1 bytes on device 0, which has 64.00 MiB "
                 "(architecture test), of which 0.00 MiB are free; 64.00 MiB in 1 blocks are "
                 "allocated and 0.00 MiB are reserved but unallocated (at the peak 64.00 MiB were "
                 "allocated)");
  }
  EXPECT_EQ(memory.statistics().failures, 1);
  memory.free(all);
  EXPECT_THROW(take(64 * kMebibyte + 1), KernelError);
  EXPECT_EQ(take(64 * kMebibyte), all);
}

TEST_F(CachingAllocation, NothingIsAllocatedForNoBytes) {
  EXPECT_EQ(take(0), nullptr);
  memory.free(nullptr);
  EXPECT_EQ(memory.statistics().segments.current, 0);
}

TEST_F(CachingAllocation, AForeignOrFreedPointerIsABug) {
  void* block = take(10);
  EXPECT_THROW(memory.free(static_cast<std::byte*>(block) + 512), SimulatorBug);
  memory.free(block);
  EXPECT_THROW(memory.free(block), SimulatorBug);
  EXPECT_THROW(memory.record_use(block, 1), SimulatorBug);
}

TEST_F(CachingAllocation, RandomUseNeverOverlapsAndEndsEmpty) {
  std::mt19937 random(3);
  std::map<std::byte*, int64_t> live;
  int64_t requested = 0;
  for (int step = 0; step < 4000; ++step) {
    if (live.size() < 40 && random() % 5 < 3) {
      const int64_t bytes = int64_t{1} << (random() % 20);
      auto* start = static_cast<std::byte*>(take(bytes, random() % 3));
      const auto next = live.lower_bound(start);
      if (next != live.end()) {
        ASSERT_GE(next->first, start + bytes);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, start);
      }
      live.emplace(start, bytes);
      requested += bytes;
    } else if (!live.empty()) {
      const auto chosen = std::next(live.begin(), static_cast<int64_t>(random() % live.size()));
      if (random() % 4 == 0) {
        memory.record_use(chosen->first, 9);
        ends[9] = now + Picoseconds{10};
      }
      memory.free(chosen->first);
      requested -= chosen->second;
      live.erase(chosen);
    }
    now += Picoseconds{1};
    ASSERT_EQ(memory.statistics().requested_bytes.current, requested);
  }
  for (const auto& [start, bytes] : live) memory.free(start);
  memory.release_cached();
  EXPECT_EQ(memory.statistics().reserved_bytes.current, 0);
  EXPECT_EQ(memory.statistics().active_bytes.current, 0);
  EXPECT_EQ(hbm.statistics(0).bytes.current, 0);
}

}  // namespace
}  // namespace neuron_sim
