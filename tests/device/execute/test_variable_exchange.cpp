// all_gather_v and all_to_all_v: sizes that are known when the kernel runs.

#include "device/execute/variable_exchange.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"
#include "device/isa/dma/collective.h"

namespace neuron_sim {
namespace {

using Numbers = std::vector<uint32_t>;

Access access_of(Numbers& values, Dtype dtype = Dtype::kUint32) {
  Access access;
  access.data = reinterpret_cast<std::byte*>(values.data());
  access.partition_stride = 4;
  access.partitions = static_cast<int32_t>(values.size());
  access.dtype = dtype;
  access.memory = MemoryKind::kHbm;
  return access;
}

/// Tensors of one rank.
struct Rank {
  Numbers src, dst, metadata;
};

void run(CollectiveKind kind, std::vector<Rank>& ranks, bool writes_counts = true) {
  std::vector<CollectiveMember> members;
  for (size_t i = 0; i < ranks.size(); ++i) {
    members.push_back({static_cast<int64_t>(i),
                       {access_of(ranks[i].dst), access_of(ranks[i].src), Access{},
                        access_of(ranks[i].metadata)}});
  }
  Collective collective;
  collective.kind = kind;
  collective.writes_counts = writes_counts;
  const Draft draft = collective.draft();
  exchange(*draft.type, draft.attributes, members);
}

TEST(VariableExchange, SendsToEveryRankWhatItsCountsSay) {
  // Rank 0 keeps 1 element and sends 2; rank 1 sends none and keeps 3.
  std::vector<Rank> ranks = {{{10, 11, 12, 13}, Numbers(6, 9), {1, 2, 3, 0, 7, 7}},
                             {{20, 21, 22}, Numbers(8, 9), {0, 3, 0, 0, 7, 7}}};
  run(CollectiveKind::kAllToAllV, ranks);
  EXPECT_EQ(ranks[0].dst, (Numbers{13, 9, 9, 9, 9, 9}));
  EXPECT_EQ(ranks[1].dst, (Numbers{10, 11, 9, 9, 20, 21, 22, 9}));
  EXPECT_EQ(ranks[0].metadata, (Numbers{1, 2, 3, 0, 1, 0}));
  EXPECT_EQ(ranks[1].metadata, (Numbers{0, 3, 0, 0, 2, 3}));
}

TEST(VariableExchange, LeavesKnownCountsAsTheyAre) {
  std::vector<Rank> ranks = {{{10}, {9}, {1, 0, 7}}};
  run(CollectiveKind::kAllToAllV, ranks, false);
  EXPECT_EQ(ranks[0].dst, (Numbers{10}));
  EXPECT_EQ(ranks[0].metadata, (Numbers{1, 0, 7}));
}

TEST(VariableExchange, PutsPartsWhereTheFourthRowSays) {
  std::vector<Rank> ranks = {{{10, 11}, Numbers(4, 9), {1, 1, 0, 1, 0, 0, 3, 0}},
                             {{20, 21}, Numbers(4, 9), {1, 1, 0, 1, 0, 0, 2, 1}}};
  run(CollectiveKind::kAllToAllV, ranks);
  EXPECT_EQ(ranks[0].dst, (Numbers{20, 9, 9, 10}));
  EXPECT_EQ(ranks[1].dst, (Numbers{9, 21, 11, 9}));
}

TEST(VariableExchange, GathersOnePartOfEveryRank) {
  std::vector<Rank> ranks = {{{10, 11, 12}, Numbers(4, 9), {2, 8, 1, 8, 0, 0}},
                             {{20, 21, 22}, Numbers(4, 9), {1, 8, 0, 8, 0, 0}}};
  run(CollectiveKind::kAllGatherV, ranks);
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.dst, (Numbers{11, 12, 20, 9}));
    EXPECT_EQ(Numbers(rank.metadata.begin() + 4, rank.metadata.end()), (Numbers{2, 1}));
  }
}

TEST(VariableExchange, StaysInsideTheTensors) {
  const auto error = [](const Numbers& metadata) {
    std::vector<Rank> ranks = {{{10, 11}, Numbers(3, 9), metadata}};
    try {
      run(CollectiveKind::kAllToAllV, ranks);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error({2, 0, 0}), "");
  EXPECT_EQ(error({2, 1, 0}),
            "'all_to_all_v' of rank 0: elements 1 to 2 of the metadata are out of bounds of src, "
            "which has 2 elements.");
  EXPECT_EQ(error({2, 0, 0, 1}), "");
  EXPECT_EQ(error({2, 0, 0, 2}),
            "'all_to_all_v' of rank 0: elements 2 to 3 of the metadata are out of bounds of dst, "
            "which has 3 elements.");
}

}  // namespace
}  // namespace neuron_sim
