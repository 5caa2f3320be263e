#include "device/instruction/short_runs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace neuron_sim {
namespace {

constexpr int64_t kPartitions = 3, kRow = 512;  // floats

struct Memory {
  std::vector<float> values = std::vector<float>(kPartitions * kRow);
  Memory() { std::iota(values.begin(), values.end(), 0.0f); }

  /// Runs from a float of each row on, `stride` floats apart.
  Access runs(int64_t first, int64_t count, int64_t length, int64_t stride) {
    Access access;
    access.data = reinterpret_cast<std::byte*>(values.data() + first);
    access.partition_stride = kRow * 4;
    access.partitions = kPartitions;
    access.memory = MemoryKind::kSbuf;
    access.rank = 2;
    access.free[0] = {count, stride * 4};
    access.free[1] = {length, 4};
    return access;
  }
  float at(int64_t partition, int64_t element) const {
    return values[static_cast<size_t>(partition * kRow + element)];
  }
};

constexpr auto kSum = [](float a, float b) { return 1000 * a + b; };

bool map(const Access& target, const Access& first, const Access& second) {
  return map_short_runs<2>(target, {&first, &second}, kSum);
}

TEST(ShortRuns, AreMappedElementByElementInStorage) {
  for (const int64_t length : {1, 2, 4, 8, 16, 32}) {
    const int64_t count = 128 / length, stride = 2 * length;
    Memory memory;
    const Memory before = memory;
    // The two halves of each block; the second half takes the result.
    const Access low = memory.runs(0, count, length, stride),
                 high = memory.runs(length, count, length, stride);
    ASSERT_TRUE(map(high, low, high)) << length;
    for (int64_t p = 0; p < kPartitions; ++p) {
      for (int64_t i = 0; i < kRow; ++i) {
        const bool written = i < 256 && i % stride >= length;
        const float expected =
            written ? kSum(before.at(p, i - length), before.at(p, i)) : before.at(p, i);
        ASSERT_EQ(memory.at(p, i), expected) << length << " " << p << " " << i;
      }
    }
  }
}

TEST(ShortRuns, MayBeReadFromOrWrittenToADenseRow) {
  Memory memory;
  const Memory before = memory;
  const Access dense = memory.runs(256, 1, 64, 0), low = memory.runs(0, 16, 4, 8),
               high = memory.runs(4, 16, 4, 8);
  ASSERT_TRUE(map(dense, low, high));
  ASSERT_TRUE(map(low, dense, high));
  for (int64_t p = 0; p < kPartitions; ++p) {
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t at = i / 4 * 8 + i % 4;
      const float sum = kSum(before.at(p, at), before.at(p, at + 4));
      ASSERT_EQ(memory.at(p, 256 + i), sum);
      ASSERT_EQ(memory.at(p, at), kSum(sum, before.at(p, at + 4)));
    }
  }
}

TEST(ShortRuns, AreLeftToOthersWhereAReadWouldFollowAWriteOrNothingIsShort) {
  Memory memory;
  const Memory before = memory;
  const Access target = memory.runs(0, 8, 4, 10);
  const Access apart = memory.runs(4, 8, 4, 10), last_apart = memory.runs(6, 8, 4, 10);
  EXPECT_FALSE(map(target, target, memory.runs(3, 8, 4, 10)));
  EXPECT_FALSE(map(target, target, memory.runs(7, 8, 4, 10)));
  EXPECT_FALSE(map(target, target, memory.runs(10, 8, 4, 10))) << "the next run";
  EXPECT_FALSE(map(target, target, memory.runs(256, 8, 5, 10))) << "another length";
  EXPECT_FALSE(map(memory.runs(0, 1, 32, 0), memory.runs(64, 1, 32, 0), memory.runs(128, 1, 32, 0)))
      << "all dense";
  Access half = memory.runs(256, 8, 4, 10);
  half.dtype = Dtype::kFloat16;
  EXPECT_FALSE(map(target, target, half));
  EXPECT_EQ(memory.values, before.values);
  EXPECT_TRUE(map(target, target, apart));
  EXPECT_TRUE(map(target, target, last_apart));
}

}  // namespace
}  // namespace neuron_sim
