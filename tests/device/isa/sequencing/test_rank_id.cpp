#include "device/isa/sequencing/rank_id.h"

#include <gtest/gtest.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

int64_t value(const Draft& draft, int64_t rank) {
  RegisterFile registers;
  Instance instance;
  instance.attributes = draft.attributes;
  instance.registers = &registers;
  instance.rank = rank;
  instance.groups = draft.groups.get();
  draft.type->run(instance);
  return registers.values[5];
}

std::shared_ptr<const ReplicaGroups> groups(std::vector<std::vector<int64_t>> lists) {
  return std::make_shared<const ReplicaGroups>(ReplicaGroups{std::move(lists)});
}

TEST(RankId, IsTheNumberOfTheRank) {
  for (const int64_t rank : {0, 1, 63}) EXPECT_EQ(value(RankId{5}.draft(), rank), rank);
}

TEST(ProcessingRankId, GoesBackwardsThroughThePlacesOfTheGroup) {
  const auto at = [&](int64_t rank, int64_t iteration) {
    return value(ProcessingRankId{5, groups({{0, 1, 2}, {8, 7}}), iteration}.draft(), rank);
  };
  EXPECT_EQ(at(1, 0), 1);
  EXPECT_EQ(at(1, 1), 0);
  EXPECT_EQ(at(1, 2), 2);
  EXPECT_EQ(at(1, 3), 1);
  EXPECT_EQ(at(7, 0), 1);
  EXPECT_EQ(at(7, 1), 0);
  EXPECT_EQ(at(8, 1), 1);
  EXPECT_EQ(at(4, 1), 0);  // in no group
}

TEST(ProcessingRankId, NeedsAnIterationAndARegister) {
  const Architecture& trn2 = load_architecture("trn2");
  const auto error = [&](ProcessingRankId instruction) {
    instruction.engine = EngineKind::kSync;
    try {
      kProcessingRankId.check(instruction.draft(), trn2);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error({63, groups({{0}})}), "");
  EXPECT_EQ(error({64, groups({{0}})}),
            "register 64 of 'collective_permute_implicit_current_processing_rank_id' does not "
            "exist; a sequencer of architecture trn2 has 64 registers.");
  EXPECT_EQ(error({0, groups({{0}}), -1}),
            "'collective_permute_implicit_current_processing_rank_id': iteration_id -1 is "
            "negative.");
  EXPECT_EQ(error({0, groups({{0}}), 0, -2}),
            "'collective_permute_implicit_current_processing_rank_id': channel_id -2 is negative.");
}

}  // namespace
}  // namespace neuron_sim
