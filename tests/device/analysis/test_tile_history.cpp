#include "device/analysis/tile_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace neuron_sim {
namespace {

/// Number of the latest access merged into an entry.
struct Latest {
  int64_t number = 0;
  void merge(const Latest& other) { number = std::max(number, other.number); }
};
using History = TileHistory<Latest>;

Region bytes(int64_t low, int64_t run) { return {.low = low, .run = run}; }

struct Edge {
  int64_t number;
  bool is_write;
  auto operator<=>(const Edge&) const = default;
};

std::set<Edge> edges(const History& history, const Region& region, bool writes) {
  std::set<Edge> result;
  history.collect(region, !writes, writes, [&](const HistoryEntry<Latest>& entry, bool is_write) {
    result.insert({entry.stamp.number, is_write});
  });
  return result;
}

TEST(TileHistory, AReadMeetsWritesAndAWriteMeetsBoth) {
  History history;
  history.record(bytes(0, 8), true, 0, {1});
  history.record(bytes(4, 8), false, 1, {2});
  EXPECT_EQ(edges(history, bytes(4, 4), false), (std::set<Edge>{{1, true}}));
  EXPECT_EQ(edges(history, bytes(4, 4), true), (std::set<Edge>{{1, true}, {2, false}}));
  EXPECT_EQ(edges(history, bytes(8, 4), true), (std::set<Edge>{{2, false}}));
  EXPECT_TRUE(edges(history, bytes(12, 4), true).empty());
}

TEST(TileHistory, AWriteRemovesWhatItCoversAndNothingElse) {
  History history;
  history.record(bytes(0, 8), true, 0, {1});
  history.record(bytes(8, 8), false, 0, {2});
  history.record(bytes(1, 15), true, 1, {3});  // leaves the first byte of the first write
  EXPECT_EQ(history.writes().size(), 2u);
  EXPECT_TRUE(history.reads().empty());
  history.record(bytes(0, 16), true, 1, {4});
  EXPECT_EQ(edges(history, bytes(0, 16), true), (std::set<Edge>{{4, true}}));
}

TEST(TileHistory, AReadMergesIntoOneOfItsSlotThatCoversIt) {
  History history;
  history.record(bytes(0, 8), false, 0, {1});
  history.record(bytes(2, 6), false, 0, {2});
  EXPECT_EQ(history.reads().size(), 1u);
  EXPECT_EQ(edges(history, bytes(0, 1), true), (std::set<Edge>{{2, false}}));
  history.record(bytes(2, 7), false, 0, {3});  // one byte more
  history.record(bytes(2, 6), false, 1, {4});  // another slot
  EXPECT_EQ(history.reads().size(), 3u);
}

TEST(TileHistory, AReadOfAWidenedRegionMergesIntoItsLikeOnly) {
  Region widened = bytes(0, 8);
  widened.exact = false;
  History history;
  history.record(widened, false, 0, {1});
  history.record(widened, false, 0, {2});
  EXPECT_EQ(history.reads().size(), 1u);
  history.record(bytes(0, 8), false, 0, {3});  // the widened one may have touched fewer bytes
  EXPECT_EQ(history.reads().size(), 2u);
  history.record(widened, false, 0, {4});  // within the exact one or like the first: no entry
  EXPECT_EQ(history.reads().size(), 2u);
}

TEST(TileHistory, TheTwoOldestOfASlotBecomeOneBeyondTheBound) {
  const auto maximum = static_cast<int64_t>(History::kReadsOfTile);
  History history;
  for (int64_t i = 0; i < maximum; ++i) history.record(bytes(10 * i, 4), false, 0, {i});
  EXPECT_EQ(history.widened(), 0);
  EXPECT_TRUE(edges(history, bytes(4, 6), true).empty());
  history.record(bytes(10 * maximum, 4), false, 0, {maximum});
  EXPECT_EQ(history.widened(), 1);
  EXPECT_EQ(history.reads().size(), History::kReadsOfTile);
  EXPECT_EQ(edges(history, bytes(4, 6), true), (std::set<Edge>{{1, false}}));  // between the two
  EXPECT_TRUE(edges(history, bytes(14, 6), true).empty());
  Region both = bytes(0, 14);
  both.exact = false;
  history.record(both, false, 0, {maximum + 1});  // is the widened entry
  EXPECT_EQ(history.widened(), 1);
}

TEST(TileHistory, RowsBeyondTheBoundStayApartFromRowsThatAReadLeavesAlone) {
  // Two matrices of two halves each, row by row: both first halves, then both second ones.
  constexpr int64_t kRow = 18, kHalf = 128 * kRow;
  static_assert(128 > History::kWritesOfTile);
  History history;
  int64_t number = 0;
  for (const int64_t half : {0, 2, 1, 3}) {
    for (int64_t low = half * kHalf; low < (half + 1) * kHalf; low += kRow) {
      history.record(bytes(low, kRow), true, 0, {number++});
    }
  }
  EXPECT_EQ(history.writes().size(), History::kWritesOfTile);
  const auto waits = [&](int64_t half) {
    const std::set<Edge> found = edges(history, bytes(half * kHalf, kHalf), false);
    return std::pair(found.begin()->number / 128, found.rbegin()->number / 128);
  };
  EXPECT_EQ(waits(0), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(waits(2), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(waits(1), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(waits(3), std::pair(int64_t{3}, int64_t{3}));
}

TEST(TileHistory, WhatDoesNotMatterIsLeftOut) {
  History history;
  history.record(bytes(0, 8), true, 0, {1});
  history.record(bytes(0, 8), false, 1, {2});
  history.record(bytes(0, 8), false, 2, {3});
  std::set<Edge> found;
  history.collect(
      bytes(0, 8), true, true,
      [](const HistoryEntry<Latest>& entry, bool is_write) { return !is_write && entry.slot != 1; },
      [&](const HistoryEntry<Latest>& entry, bool is_write) {
        found.insert({entry.stamp.number, is_write});
      });
  EXPECT_EQ(found, (std::set<Edge>{{3, false}}));
}

/// One access of the random test, with every (partition, byte) that it touches.
struct Access {
  Region region;
  bool writes = false;
  std::set<std::pair<int64_t, int64_t>> bytes;

  bool conflicts(const Access& other) const {
    if (!writes && !other.writes) return false;
    return std::any_of(bytes.begin(), bytes.end(),
                       [&](const auto& byte) { return other.bytes.contains(byte); });
  }
};

Access random_access(std::mt19937& random) {
  const auto below = [&](unsigned limit) { return static_cast<int32_t>(random() % limit); };
  Access access;
  access.writes = below(3) == 0;
  access.region = {.partition = below(3),
                   .partitions = 1 + below(3),
                   .low = below(60),
                   .run = 1 + below(8),
                   .stride = 8 + below(2) * 8,
                   .count = 1 + below(4)};
  const Region& region = access.region;
  for (int64_t partition = 0; partition < region.partitions; ++partition) {
    for (int64_t i = 0; i < region.count * region.run; ++i) {
      access.bytes.insert({region.partition + partition,
                           region.low + i / region.run * region.stride + i % region.run});
    }
  }
  return access;
}

TEST(TileHistory, NoAccessForgetsTheLatestOneItConflictsWith) {
  std::mt19937 random(7);
  int64_t conflicts = 0, widened = 0;
  for (int repetition = 0; repetition < 40; ++repetition) {
    History history;
    std::vector<Access> earlier;
    for (int64_t number = 1; number <= 60; ++number) {
      const Access access = random_access(random);
      int64_t latest = 0, found = 0;
      for (size_t i = 0; i < earlier.size(); ++i) {
        if (access.conflicts(earlier[i])) latest = static_cast<int64_t>(i) + 1;
      }
      for (const Edge& edge : edges(history, access.region, access.writes)) {
        found = std::max(found, edge.number);
      }
      EXPECT_GE(found, latest) << repetition << ", " << number;
      conflicts += latest > 0 ? 1 : 0;
      history.record(access.region, access.writes, static_cast<Slot>(random() % 2), {number});
      earlier.push_back(access);
    }
    widened += history.widened();
  }
  EXPECT_GT(conflicts, 1000);
  EXPECT_GT(widened, 0);
}

/// The rules of a history on one plain list each, without anything that makes them fast.
struct PlainHistory {
  using Entry = HistoryEntry<Latest>;
  std::vector<Entry> reads, writes;
  int64_t widened = 0;

  static int64_t bound(std::vector<Entry>& entries, size_t maximum, Slot slot, bool cheapest) {
    if (entries.size() < maximum) return 0;
    std::vector<size_t> own;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].slot == slot) own.push_back(i);
    }
    if (own.size() < 2) return 0;
    const auto bytes = [](const Region& region) {
      return region.partitions * (region.high() - region.low);
    };
    const auto cost = [&](size_t i) {
      const Region &older = entries[own[i]].region, &newer = entries[own[i + 1]].region;
      const int64_t both = bytes(bounding(older, newer));
      return std::pair(both - bytes(older) - bytes(newer), both);
    };
    size_t least = 0;
    for (size_t i = 1; cheapest && i + 1 < own.size(); ++i) {
      if (cost(i) < cost(least)) least = i;
    }
    Entry& older = entries[own[least]];
    const Entry newer = entries[own[least + 1]];
    older.region = bounding(older.region, newer.region);
    older.stamp.merge(newer.stamp);
    entries.erase(entries.begin() + static_cast<ptrdiff_t>(own[least + 1]));
    return 1;
  }

  void record(const Region& region, bool is_write, Slot slot, const Latest& stamp) {
    if (is_write) {
      const auto covered = [&](const Entry& entry) { return covers(region, entry.region); };
      std::erase_if(writes, covered);
      std::erase_if(reads, covered);
      widened += bound(writes, History::kWritesOfTile, slot, true);
      writes.push_back({region, slot, stamp, region.high()});
      return;
    }
    for (Entry& entry : reads) {
      if (entry.slot != slot || (region.exact && !entry.region.exact)) continue;
      if (!covers(entry.region, region) && entry.region != region) continue;
      entry.stamp.merge(stamp);
      return;
    }
    widened += bound(reads, History::kReadsOfTile, slot, false);
    reads.push_back({region, slot, stamp, region.high()});
  }
};

void expect_equal(const AccessList<Latest>& list, const std::vector<HistoryEntry<Latest>>& plain) {
  ASSERT_EQ(list.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const HistoryEntry<Latest>& entry = list.begin()[i];
    EXPECT_EQ(entry.region, plain[i].region) << i;
    EXPECT_EQ(entry.slot, plain[i].slot) << i;
    EXPECT_EQ(entry.stamp.number, plain[i].stamp.number) << i;
    EXPECT_EQ(entry.high, plain[i].region.high()) << i;
  }
}

/// Loops over a few regions in order, among them equal and widened ones and some far away.
Region looped_access(std::mt19937& random, int64_t number) {
  constexpr int64_t kFar = int64_t{1} << 33;
  Region region = random_access(random).region;
  if (number % 3 != 0) region = {.low = number % 9 * 8, .run = 12, .stride = 64, .count = 2};
  if (random() % 8 == 0) region.exact = false;
  if (random() % 4 == 0) region.low += kFar;
  return region;
}

TEST(TileHistory, KeepsTheEntriesOfAPlainList) {
  std::mt19937 random(11);
  int64_t widened = 0, merged = 0;
  for (int repetition = 0; repetition < 60; ++repetition) {
    const bool many_writes = repetition % 3 == 0;
    History history;
    PlainHistory plain;
    for (int64_t number = 1; number <= 400; ++number) {
      const Region region = looped_access(random, number);
      const bool writes = many_writes ? random() % 2 == 0 : random() % 16 == 0;
      const auto slot = static_cast<Slot>(random() % (repetition % 2 == 0 ? 1 : 3));
      const size_t before = plain.reads.size();
      history.record(region, writes, slot, {number});
      plain.record(region, writes, slot, {number});
      merged += !writes && plain.reads.size() == before ? 1 : 0;
      expect_equal(history.reads(), plain.reads);
      expect_equal(history.writes(), plain.writes);
      ASSERT_EQ(history.widened(), plain.widened);
      ASSERT_FALSE(HasFailure()) << repetition << ", " << number;
    }
    widened += history.widened();
  }
  EXPECT_GT(widened, 1000);
  EXPECT_GT(merged, 1000);
}

/// The executor's stamps own memory, which a move to the same place would release.
struct Numbers {
  std::vector<int64_t> all;
  void merge(const Numbers& other) { all.insert(all.end(), other.all.begin(), other.all.end()); }
};

TEST(TileHistory, KeepsStampsThatOwnMemoryWhenItGrows) {
  TileHistory<Numbers> history;
  for (int64_t number = 0; number < 40; ++number) {
    history.record(bytes(number * 8, 8), true, 0, {{number}});
    std::vector<int64_t> found;
    const auto add = [&](const HistoryEntry<Numbers>& entry, bool) {
      found.insert(found.end(), entry.stamp.all.begin(), entry.stamp.all.end());
    };
    history.collect(bytes(0, 8 * 40), true, false, add);
    ASSERT_EQ(found.size(), static_cast<size_t>(number) + 1);
  }
}

}  // namespace
}  // namespace neuron_sim
