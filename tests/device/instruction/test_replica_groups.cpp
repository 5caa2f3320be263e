#include "device/instruction/replica_groups.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

TEST(ReplicaGroups, FindARanksGroupAndItsPlaceThere) {
  const ReplicaGroups groups{{{4, 0}, {7}}};
  ASSERT_TRUE(groups.find(0));
  EXPECT_EQ(groups.find(0)->position, 1);
  EXPECT_EQ(groups.find(0)->size(), 2);
  EXPECT_EQ(groups.find(7)->position, 0);
  EXPECT_FALSE(groups.find(1));
  EXPECT_EQ(groups.largest_rank(), 7);
  EXPECT_EQ(groups.largest_group(), 2);
  EXPECT_EQ(groups.describe(), "[[4, 0], [7]]");
}

TEST(ReplicaGroups, HaveEveryRankOnce) {
  const auto error = [](const Lists& lists) {
    return error_of([&] { check_replica_groups("all_reduce", {lists}); });
  };
  EXPECT_EQ(error({{0}}), "");
  EXPECT_EQ(error({{3, 1}, {0}}), "");
  EXPECT_EQ(error({}), "'all_reduce': replica group [] has no ranks.");
  EXPECT_EQ(error({{0}, {}}), "'all_reduce': replica group [[0], []] has a list without ranks.");
  EXPECT_EQ(error({{0, -1}}),
            "'all_reduce': replica group [[0, -1]] has rank -1, but ranks start at 0.");
  const char* const overlap = " twice; sub-groups should not have any overlap.";
  EXPECT_EQ(error({{0, 0}}),
            std::string("'all_reduce': replica group [[0, 0]] has rank 0") + overlap);
  EXPECT_EQ(error({{0, 1}, {1, 2}}),
            std::string("'all_reduce': replica group [[0, 1], [1, 2]] has rank 1") + overlap);
}

TEST(ReplicaGroups, SourceTargetPairsAreRings) {
  const auto rings = [](const Lists& pairs) { return rings_of("permute", pairs).groups; };
  EXPECT_EQ(rings({{0, 0}}), (Lists{{0}}));
  EXPECT_EQ(rings({{0, 1}, {1, 0}}), (Lists{{0, 1}}));
  EXPECT_EQ(rings({{2, 0}, {5, 3}, {0, 2}, {3, 5}}), (Lists{{0, 2}, {3, 5}}));
  EXPECT_EQ(rings({{0, 3}, {3, 1}, {1, 0}}), (Lists{{0, 3, 1}}));
}

TEST(ReplicaGroups, WhoeverSendsReceivesOnce) {
  const auto error = [](const Lists& pairs) {
    return error_of([&] { rings_of("permute", pairs); });
  };
  EXPECT_EQ(error({}), "'permute': source_target_pairs [] has no pairs.");
  EXPECT_EQ(error({{0, 1, 2}}),
            "'permute': source_target_pairs [[0, 1, 2]] has an entry that is no (source, target).");
  EXPECT_EQ(error({{0, -1}}),
            "'permute': source_target_pairs [[0, -1]] has rank -1, but ranks start at 0.");
  EXPECT_EQ(error({{0, 1}, {0, 2}}),
            "'permute': source_target_pairs [[0, 1], [0, 2]]: rank 0 sends twice.");
  EXPECT_EQ(error({{0, 1}, {2, 1}}),
            "'permute': source_target_pairs [[0, 1], [2, 1]]: rank 1 receives twice.");
  EXPECT_EQ(error({{0, 1}, {1, 2}}),
            "'permute': source_target_pairs [[0, 1], [1, 2]]: rank 0 sends but does not receive; "
            "only circular permute patterns are supported.");
}

}  // namespace
}  // namespace neuron_sim
