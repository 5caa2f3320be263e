#include "device/runtime/group_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

using Operation = GroupOperation;

const Architecture& trn2() { return load_architecture("trn2"); }

double nanoseconds(Operation operation, int64_t bytes, int ranks) {
  return group_time(trn2(), operation, {bytes}, ranks).duration.nanoseconds();
}

std::string algorithm(Operation operation, int64_t bytes, int ranks) {
  return group_time(trn2(), operation, {bytes}, ranks).algorithm;
}

// What trn2.toml says: 1.5 us per step, 16 DMA engines, 1 MiB and 56 MiB between the algorithms.
constexpr double kHop = 1500, kCopy = 16 * 27.2, kReduce = kCopy / 2, kLink = 512;
constexpr int64_t kMesh = 1 << 20, kRecursive = 56 << 20;

TEST(GroupTime, OneRankNeedsNoTime) {
  EXPECT_EQ(nanoseconds(Operation::kAllReduce, 1 << 30, 1), 0);
  EXPECT_EQ(algorithm(Operation::kAllReduce, 1 << 30, 1), "none");
}

TEST(GroupTime, SmallBuffersTakeOneStepPerPass) {
  EXPECT_NEAR(nanoseconds(Operation::kBarrier, 0, 2), kHop, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kAllGather, 8000, 2), kHop + 8000 / kCopy, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kReduceScatter, 8000, 2), kHop + 8000 / kReduce, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kAllReduce, 8000, 2), 2 * kHop + 4000 / kReduce + 4000 / kCopy,
              1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kAllToAll, 8000, 4), kHop + 6000 / kCopy, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kSend, 8000, 2), kHop + 8000 / kCopy, 1e-3);
}

TEST(GroupTime, OneRankServesAllOthers) {
  EXPECT_NEAR(nanoseconds(Operation::kGather, 8000, 4), kHop + 3 * 8000 / kCopy, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kScatter, 8000, 4), kHop + 3 * 8000 / kCopy, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kBroadcast, 8000, 4), kHop + 3 * 8000 / kCopy, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kReduce, 8000, 4), kHop + 3 * 8000 / kReduce, 1e-3);
}

TEST(GroupTime, TheAlgorithmChangesAtTheDocumentedSizes) {
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh - 1, 4), "mesh");
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh, 4), "rdh");
  EXPECT_EQ(algorithm(Operation::kAllReduce, kRecursive, 4), "rdh");
  EXPECT_EQ(algorithm(Operation::kAllReduce, kRecursive + 1, 4), "kangaring");
  EXPECT_EQ(algorithm(Operation::kBroadcast, kMesh - 1, 4), "direct");
  EXPECT_EQ(algorithm(Operation::kBroadcast, kMesh, 4), "rdh");
  // The larger buffer counts: the outputs of an allgather.
  EXPECT_EQ(algorithm(Operation::kAllGather, kMesh / 4 - 1, 4), "mesh");
  EXPECT_EQ(algorithm(Operation::kAllGather, kMesh / 4, 4), "rdh");
}

TEST(GroupTime, ChipsThatAreNoPowerOfTwoGoRoundARing) {
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh, 16), "rdh");
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh, 24), "kangaring");  // three chips
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh, 32), "rdh");
  EXPECT_EQ(algorithm(Operation::kAllReduce, kMesh - 1, 24), "mesh");
  // A step for every second rank, twice; a third of the sum stays on each chip.
  const double bytes = kMesh;
  const auto pass = [&](double rate) {
    return bytes * std::max(23.0 / 24 / rate, 2.0 / 3 / kLink);
  };
  EXPECT_NEAR(nanoseconds(Operation::kAllReduce, kMesh, 24),
              2 * 12 * kHop + pass(kReduce) + pass(kCopy), 1);
}

TEST(GroupTime, ALargeRingHasAStepForEverySecondRank) {
  const double bytes = kRecursive + 8;
  EXPECT_NEAR(nanoseconds(Operation::kAllReduce, kRecursive + 8, 8),
              2 * 4 * kHop + bytes * 7 / 8 * (1 / kReduce + 1 / kCopy), 1);
}

TEST(GroupTime, LargeBuffersReachOrLeaveARootInTwoPasses) {
  const double bytes = kMesh, part = bytes * 7 / 8;
  EXPECT_NEAR(nanoseconds(Operation::kBroadcast, kMesh, 8), 2 * kHop + 2 * part / kCopy, 1e-3);
  // Only the first of the two, a reduce-scatter, combines what it moves.
  EXPECT_NEAR(nanoseconds(Operation::kReduce, kMesh, 8), 2 * kHop + part / kReduce + part / kCopy,
              1e-3);
}

TEST(GroupTime, TheNinthRankIsOnAnotherChipOneStepFurther) {
  const double eight = nanoseconds(Operation::kAllGather, 0, 8);
  const double nine = nanoseconds(Operation::kAllGather, 0, 9);
  EXPECT_NEAR(eight, kHop, 1e-3);
  EXPECT_NEAR(nine, 2 * kHop, 1e-3);
  // 16 ranks of 32 KiB: half of the result comes over the links, 15 parts through the DMA engines.
  const double buffer = 16 * 32768;
  EXPECT_NEAR(nanoseconds(Operation::kAllGather, 32768, 16),
              2 * kHop + std::max(buffer * 15 / 16 / kCopy, buffer / 2 / kLink), 1e-3);
}

TEST(GroupTime, StepsBetweenInstancesAreLonger) {
  const int instance = 8 * 16;
  EXPECT_NEAR(nanoseconds(Operation::kAllGather, 0, instance), 2 * kHop, 1e-3);
  EXPECT_NEAR(nanoseconds(Operation::kAllGather, 0, instance + 1), 2 * 15000, 1e-3);
}

TEST(GroupTime, WhatDoesNotExistIsRefused) {
  const auto refused = [](int64_t bytes, int ranks) {
    try {
      group_time(trn2(), Operation::kAllReduce, {bytes}, ranks);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(-1, 2),
            "a collective of -1 bytes between 2 ranks does not exist: expected 0 bytes and 1 rank "
            "at least");
  EXPECT_EQ(refused(0, 0),
            "a collective of 0 bytes between 0 ranks does not exist: expected 0 bytes and 1 rank "
            "at least");
  EXPECT_EQ(refused(0, 1), "");
}

}  // namespace
}  // namespace neuron_sim
