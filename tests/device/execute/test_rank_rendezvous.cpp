// How ranks that cannot go on are told: never a hang.

#include "device/execute/rank_rendezvous.h"

#include <gtest/gtest.h>

#include "device/isa/dma/dma_copy.h"
#include "tests/device/execute/ranks.h"

namespace neuron_sim {
namespace {

using namespace ranks;  // NOLINT(google-build-using-namespace): helpers of these tests
constexpr Dtype kFloat = Dtype::kFloat32;

TEST(RankRendezvous, FailWhereAGroupHasMoreRanksThanRun) {
  RankedRun one(collective_of(CollectiveKind::kAllReduce, {1}, {1}, {{0, 1}}), 1);
  EXPECT_EQ(one.error(),
            "'all_reduce' of kernel 'ranked': rank 1 of replica group [[0, 1]] does not exist; the "
            "kernel runs on 1 rank.");
  RankedRun two(collective_of(CollectiveKind::kAllReduce, {1}, {1}, {{0, 2}}), 2);
  EXPECT_EQ(two.error(),
            "'all_reduce' of kernel 'ranked': rank 2 of replica group [[0, 2]] does not exist; the "
            "kernel runs on 2 ranks.");
}

TEST(RankRendezvous, DeadlockWhereTheirCollectivesDiffer) {
  const auto reduce = collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{0, 1}});
  const auto permute = collective_of(CollectiveKind::kPermuteImplicit, {2}, {2}, {{0, 1}});
  EXPECT_EQ(RankedRun({reduce, permute}).error(),
            "kernel 'ranked' deadlocks: core 0 of rank 0 at 'all_reduce' of replica group "
            "[[0, 1]], core 0 of rank 1 at 'collective_permute_implicit' of replica group "
            "[[0, 1]].");
  const auto other = collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{1, 0}});
  EXPECT_EQ(RankedRun({reduce, other}).error(),
            "kernel 'ranked' deadlocks: core 0 of rank 0 at 'all_reduce' of replica group "
            "[[0, 1]], core 0 of rank 1 at 'all_reduce' of replica group [[1, 0]].");
}

TEST(RankRendezvous, DeadlockWhereARankHasNoCollective) {
  const auto reduce = collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{0, 1}});
  const auto copy =
      program_of({2}, {2}, kFloat, [](Builder& builder, const View& x, const View& y) {
        builder.emit(DmaCopy{.dst = y, .src = x});
      });
  for (const bool first : {true, false}) {
    const std::string expected = text("kernel 'ranked' deadlocks: core 0 of rank ", first ? 0 : 1,
                                      " at 'all_reduce' of replica group [[0, 1]] waits for rank ",
                                      first ? 1 : 0, ", which has ended.");
    EXPECT_EQ((first ? RankedRun({reduce, copy}) : RankedRun({copy, reduce})).error(), expected);
  }
}

TEST(RankRendezvous, DeadlockInACircle) {
  // Each waits for the next, and none of the three groups is complete.
  std::vector<std::shared_ptr<const Program>> programs;
  for (const Lists& lists : {Lists{{0, 1}}, Lists{{1, 2}}, Lists{{2, 0}}}) {
    programs.push_back(collective_of(CollectiveKind::kAllReduce, {2}, {2}, lists));
  }
  EXPECT_EQ(RankedRun(programs).error(),
            "kernel 'ranked' deadlocks: core 0 of rank 0 at 'all_reduce' of replica group "
            "[[0, 1]], core 0 of rank 1 at 'all_reduce' of replica group [[1, 2]].");
}

TEST(RankRendezvous, FailWhereSizesOrOperatorsDiffer) {
  const auto program = [](int64_t size, AluOp op) {
    return collective_of(CollectiveKind::kAllReduce, {size}, {size}, {{0, 1}}, kFloat, op);
  };
  EXPECT_EQ(RankedRun({program(2, AluOp::kAdd), program(3, AluOp::kAdd)}).error(),
            "'all_reduce' of kernel 'ranked': dst is float32 [2] on rank 0, but float32 [3] on "
            "rank 1.");
  EXPECT_EQ(RankedRun({program(2, AluOp::kAdd), program(2, AluOp::kMaximum)}).error(),
            "'all_reduce' of kernel 'ranked' has another op on rank 0 than on rank 1.");
}

TEST(RankRendezvous, TakeAnotherRanksOwnErrorBeforeTheirs) {
  const auto reduce = collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{0, 1}});
  const auto wrong = collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{0, 5}});
  EXPECT_EQ(RankedRun({reduce, wrong}).error(),
            "'all_reduce' of kernel 'ranked': rank 5 of replica group [[0, 5]] does not exist; the "
            "kernel runs on 2 ranks.");
}

}  // namespace
}  // namespace neuron_sim
