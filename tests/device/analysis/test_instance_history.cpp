#include "device/analysis/instance_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace neuron_sim {
namespace {

constexpr int64_t kPartitions = 8;
constexpr int64_t kBytes = 96;

Region contiguous(int64_t low, int64_t run, int32_t partition = 0, int32_t partitions = 1) {
  return {.partition = partition, .partitions = partitions, .low = low, .run = run};
}

std::vector<uint32_t> sorted(std::vector<uint32_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<uint32_t> collected(const InstanceHistory& history, const Region& region, bool writes) {
  std::vector<uint32_t> ids;
  history.collect(region, writes, ids);
  return sorted(std::move(ids));
}

/// Byte by byte: the last instance that wrote it, and those that have read it since.
class ByteHistory {
 public:
  std::set<uint32_t> collect(const Region& region, bool writes) const {
    std::set<uint32_t> ids;
    each_byte(region, [&](size_t byte) {
      if (writer_[byte] >= 0) ids.insert(static_cast<uint32_t>(writer_[byte]));
      if (writes) ids.insert(readers_[byte].begin(), readers_[byte].end());
    });
    return ids;
  }
  void record(const Region& region, bool writes, uint32_t id) {
    each_byte(region, [&](size_t byte) {
      if (!writes) {
        readers_[byte].insert(id);
        return;
      }
      writer_[byte] = id;
      readers_[byte].clear();
    });
  }

 private:
  template <typename Visit>
  static void each_byte(const Region& region, Visit&& visit) {
    for (int64_t p = region.partition; p < region.partition + region.partitions; ++p) {
      for (int64_t run = 0; run < region.count; ++run) {
        for (int64_t b = 0; b < region.run; ++b) {
          visit(static_cast<size_t>(p * kBytes + region.low + run * region.stride + b));
        }
      }
    }
  }

  std::vector<int64_t> writer_ = std::vector<int64_t>(kPartitions * kBytes, -1);
  std::vector<std::set<uint32_t>> readers_ = std::vector<std::set<uint32_t>>(kPartitions * kBytes);
};

Region random_region(std::mt19937& random, bool strided) {
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random()) % bound; };
  const auto partition = static_cast<int32_t>(below(kPartitions));
  const auto partitions = static_cast<int32_t>(1 + below(kPartitions - partition));
  const int64_t low = below(kBytes);
  const int64_t run = 1 + below(kBytes - low);
  Region region = contiguous(low, run, partition, partitions);
  if (!strided || below(2) == 0) return region;
  region.run = 1 + below(std::min<int64_t>(8, kBytes - low));
  region.stride = region.run + 1 + below(8);
  region.count = static_cast<int32_t>(1 + (kBytes - low - region.run) / region.stride);
  if (region.count == 1) region.stride = 0;
  return region;
}

/// Every instance's order follows from what was collected; without strides nothing waits for a
/// write that it shares no byte with.
void expect_right_edges(uint32_t seed, bool strided) {
  std::mt19937 random(seed);
  InstanceHistory history;
  ByteHistory oracle;
  std::vector<Region> regions;
  std::vector<bool> written;
  std::vector<std::set<uint32_t>> before;  // all that come first, directly or not
  for (uint32_t id = 0; id < 300; ++id) {
    const Region region = random_region(random, strided);
    const bool writes = random() % 3 == 0;
    std::set<uint32_t> reached;
    for (const uint32_t source : collected(history, region, writes)) {
      ASSERT_LT(source, id);
      const bool exact = !strided && written[source];
      EXPECT_TRUE(!exact || overlap(regions[source], region)) << seed << " " << id;
      reached.insert(source);
      reached.insert(before[source].begin(), before[source].end());
    }
    for (const uint32_t source : oracle.collect(region, writes)) {
      EXPECT_TRUE(reached.contains(source)) << seed << ": " << source << " before " << id;
    }
    history.record(region, writes, id);
    oracle.record(region, writes, id);
    regions.push_back(region);
    written.push_back(writes);
    before.push_back(std::move(reached));
  }
}

TEST(InstanceHistory, OrdersWhatSharesAByte) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    expect_right_edges(seed, false);
    expect_right_edges(seed, true);
  }
}

TEST(InstanceHistory, KeepsAnyNumberOfColumnsApart) {
  InstanceHistory history;
  for (uint32_t id = 0; id < 1000; ++id) history.record(contiguous(id * 4, 4), true, id);
  for (uint32_t id = 0; id < 1000; ++id) {
    EXPECT_EQ(collected(history, contiguous(id * 4, 4), false), std::vector<uint32_t>{id});
  }
  history.record(contiguous(0, 4000), true, 1000);
  EXPECT_EQ(collected(history, contiguous(1200, 800), true), std::vector<uint32_t>{1000});
}

TEST(InstanceHistory, ForgetsReadsThatAWriteCovers) {
  InstanceHistory history;
  history.record(contiguous(0, 64, 0, 8), true, 0);
  history.record(contiguous(0, 64, 0, 8), false, 1);
  history.record(contiguous(16, 16, 0, 8), false, 2);
  EXPECT_EQ(collected(history, contiguous(20, 4, 3, 1), false), std::vector<uint32_t>{0});
  EXPECT_EQ(collected(history, contiguous(20, 4, 3, 1), true), (std::vector<uint32_t>{0, 1, 2}));
  history.record(contiguous(0, 32, 0, 8), true, 3);
  EXPECT_EQ(collected(history, contiguous(20, 4, 3, 1), true), std::vector<uint32_t>{3});
  EXPECT_EQ(collected(history, contiguous(20, 40, 3, 1), true), (std::vector<uint32_t>{0, 1, 3}));
  history.clear();
  EXPECT_TRUE(collected(history, contiguous(0, 64), true).empty());
}

TEST(InstanceHistory, MergesReadsOfManyPartitionRangesIntoOne) {
  InstanceHistory history;
  for (uint32_t id = 0; id < 40; ++id) {
    history.record(contiguous(0, 4, static_cast<int32_t>(id), 1), false, id);
  }
  const std::vector<uint32_t> all = collected(history, contiguous(0, 4, 0, 40), true);
  EXPECT_EQ(all.size(), 40u);
  EXPECT_EQ(collected(history, contiguous(0, 4, 39, 1), true), std::vector<uint32_t>{39});
}

}  // namespace
}  // namespace neuron_sim
