#include "device/memory/scratch_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace neuron_sim {
namespace {

constexpr int64_t kBytes = (int64_t{3} << 20) + 12345;  // of no other test's run

TEST(ScratchMemory, ALaterRunGetsTheBlockOfAnEarlierOne) {
  std::byte* first = nullptr;
  {
    const ScratchMemory memory(kBytes);
    first = memory.data();
    std::memset(first, 1, kBytes);
  }
  const ScratchMemory smaller(kBytes - 1);
  EXPECT_EQ(smaller.data(), first);
}

TEST(ScratchMemory, RunsAtTheSameTimeHaveTheirOwnBlocks) {
  const ScratchMemory a(kBytes), b(kBytes), larger(2 * kBytes), none(0);
  std::memset(a.data(), 1, kBytes);
  std::memset(b.data(), 2, kBytes);
  std::memset(larger.data(), 3, 2 * kBytes);
  EXPECT_EQ(a.data()[kBytes - 1], std::byte{1});
  EXPECT_EQ(b.data()[0], std::byte{2});
  EXPECT_EQ(none.data(), nullptr);
}

}  // namespace
}  // namespace neuron_sim
