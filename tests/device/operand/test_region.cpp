#include "device/operand/region.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

using Bytes = std::multiset<int64_t>;

/// Every byte of elements of `item` bytes repeated that way, as often as it is touched.
Bytes touched(int64_t low, int64_t item, const std::vector<Repetition>& repetitions) {
  std::vector<int64_t> starts{low};
  for (const Repetition& r : repetitions) {
    std::vector<int64_t> next;
    for (const int64_t start : starts) {
      for (int64_t i = 0; i < r.size; ++i) next.push_back(start + i * r.stride);
    }
    starts = next;
  }
  Bytes bytes;
  for (const int64_t start : starts) {
    for (int64_t i = 0; i < item; ++i) bytes.insert(start + i);
  }
  return bytes;
}

std::set<int64_t> bytes_of(const Region& region) {
  std::set<int64_t> bytes;
  for (int64_t i = 0; i < region.count; ++i) {
    for (int64_t k = 0; k < region.run; ++k) bytes.insert(region.low + i * region.stride + k);
  }
  return bytes;
}

bool share(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](int64_t byte) { return b.contains(byte); });
}

class Patterns {
 public:
  explicit Patterns(uint64_t seed) : random_(seed) {}
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  std::vector<Repetition> repetitions(bool descending) {
    std::vector<Repetition> result;
    for (int64_t i = pick(0, 3); i > 0; --i) {
      const int64_t stride = pick(0, 3) == 0 ? pick(0, 40) : 2 * pick(0, 12);
      result.push_back({descending && pick(0, 2) == 0 ? -stride : stride, pick(1, 5)});
    }
    return result;
  }
  /// One level of runs, as regions are after widening.
  Region runs() {
    Region region;
    region.low = pick(0, 60);
    region.run = pick(1, 12);
    region.count = static_cast<int32_t>(pick(0, 2) == 0 ? 1 : pick(2, 7));
    if (region.count > 1) region.stride = region.run + pick(1, 15);
    return region;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Region, ContainsEveryByteOfThePatternAndNoOtherWhenExact) {
  Patterns patterns(1);
  int exact = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t low = patterns.pick(0, 100), item = patterns.pick(1, 4);
    const auto repetitions = patterns.repetitions(true);
    const Bytes all = touched(low, item, repetitions);
    const std::set<int64_t> expected(all.begin(), all.end());
    const Region region = region_of(low, item, repetitions);
    const std::set<int64_t> actual = bytes_of(region);
    ASSERT_TRUE(std::includes(actual.begin(), actual.end(), expected.begin(), expected.end()));
    if (region.exact) {
      ASSERT_EQ(actual, expected) << i;
    }
    ASSERT_EQ(*actual.begin(), region.low);
    ASSERT_EQ(*actual.rbegin() + 1, region.high());
    exact += region.exact ? 1 : 0;
  }
  EXPECT_GT(exact, 12000);
}

TEST(Region, IsInjectiveOnlyWhenNoByteIsTouchedTwice) {
  Patterns patterns(2);
  int injective = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t item = patterns.pick(1, 4);
    const auto repetitions = patterns.repetitions(true);
    if (!is_injective(item, repetitions)) continue;
    ++injective;
    const Bytes all = touched(0, item, repetitions);
    ASSERT_EQ(all.size(), std::set<int64_t>(all.begin(), all.end()).size()) << i;
  }
  EXPECT_GT(injective, 3000);
  EXPECT_TRUE(is_injective(4, {{400, 3}, {4, 100}}));
  EXPECT_FALSE(is_injective(4, {{396, 3}, {4, 100}}));
  EXPECT_FALSE(is_injective(4, {{0, 2}}));
  EXPECT_TRUE(is_injective(4, {{0, 1}}));
}

TEST(Region, OverlapsExactlyWhenBytesAreSharedForEqualStridesAndContiguousRuns) {
  Patterns patterns(3);
  for (int i = 0; i < 40000; ++i) {
    const Region a = patterns.runs();
    Region b = patterns.runs();
    if (i % 2 == 0 && a.count > 1) {
      b.count = static_cast<int32_t>(patterns.pick(1, 6));
      b.stride = b.count > 1 ? a.stride : 0;
      b.run = patterns.pick(1, b.count > 1 ? a.stride : 40);
    }
    const bool expected = share(bytes_of(a), bytes_of(b));
    const bool decidable = a.count == 1 || b.count == 1 || a.stride == b.stride;
    if (decidable) {
      ASSERT_EQ(overlap(a, b), expected) << i;
    } else if (expected) {
      ASSERT_TRUE(overlap(a, b)) << i;
    }
    ASSERT_EQ(overlap(a, b), overlap(b, a)) << i;
  }
}

TEST(Region, NeverMissesASharedByteOfAnyPatterns) {
  Patterns patterns(4);
  for (int i = 0; i < 20000; ++i) {
    const int64_t low_a = patterns.pick(0, 80), low_b = patterns.pick(0, 80);
    const auto a = patterns.repetitions(true), b = patterns.repetitions(true);
    const Bytes all_a = touched(low_a, 2, a), all_b = touched(low_b, 2, b);
    if (!share({all_a.begin(), all_a.end()}, {all_b.begin(), all_b.end()})) continue;
    ASSERT_TRUE(overlap(region_of(low_a, 2, a), region_of(low_b, 2, b))) << i;
  }
}

TEST(Region, TellsInterleavedColumnsApartByTheGcdOfTheirStrides) {
  const Region even = region_of(0, 2, {{8, 10}});
  EXPECT_FALSE(overlap(even, region_of(2, 2, {{12, 10}})));
  EXPECT_TRUE(overlap(even, region_of(4, 2, {{12, 10}})));
}

TEST(Region, OverlapsOnlyInSharedPartitions) {
  Region a = region_of(0, 8, {}), b = a;
  a.partition = 0;
  a.partitions = 32;
  b.partition = 32;
  EXPECT_FALSE(overlap(a, b));
  EXPECT_FALSE(overlap(b, a));
  b.partition = 31;
  EXPECT_TRUE(overlap(a, b));
}

TEST(Region, CoversOnlyWhatItContainsAndOnlyWhenExact) {
  Patterns patterns(5);
  int covered = 0;
  for (int i = 0; i < 40000; ++i) {
    Region outer = patterns.runs(), inner = patterns.runs();
    if (i % 2 == 0 && outer.count > 1 && inner.count > 1) inner.stride = outer.stride;
    const auto large = bytes_of(outer), small = bytes_of(inner);
    if (!covers(outer, inner)) continue;
    ++covered;
    ASSERT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end())) << i;
    outer.exact = false;
    ASSERT_FALSE(covers(outer, inner));
  }
  EXPECT_GT(covered, 500);
  const Region tile = region_of(64, 4, {{4, 100}});
  EXPECT_TRUE(covers(tile, tile));
  EXPECT_TRUE(covers(tile, region_of(460, 4, {})));
  EXPECT_FALSE(covers(tile, region_of(461, 4, {})));
  EXPECT_FALSE(covers(tile, region_of(63, 4, {})));
}

TEST(Region, IsBoundedByTheSmallestContiguousRegion) {
  Region a = region_of(10, 2, {{8, 3}}), b = region_of(40, 4, {});
  a.partition = 3;
  b.partition = 64;
  b.partitions = 2;
  const Region both = bounding(a, b);
  EXPECT_EQ(both.low, 10);
  EXPECT_EQ(both.high(), 44);
  EXPECT_EQ(both.partition, 3);
  EXPECT_EQ(both.partitions, 63);
  EXPECT_FALSE(both.exact);
}

}  // namespace
}  // namespace neuron_sim
