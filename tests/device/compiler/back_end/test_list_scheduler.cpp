#include "device/compiler/back_end/list_scheduler.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

/// Tasks and their dependencies by hand; durations in picoseconds.
class Problem {
 public:
  explicit Problem(int64_t wake_up = 0, int64_t same_engine = 0) {
    problem_.wake_up = {wake_up};
    problem_.same_engine = {same_engine};
  }

  uint32_t add(EngineKind engine, int64_t duration, std::vector<uint32_t> after = {}) {
    Task task;
    task.engine = engine;
    task.cost.issue = {duration};
    task.rank = static_cast<int64_t>(problem_.tasks.size());
    problem_.tasks.push_back(task);
    after_.push_back(std::move(after));
    return static_cast<uint32_t>(problem_.tasks.size() - 1);
  }
  Task& task(uint32_t index) { return problem_.tasks[index]; }
  int32_t buffer(int64_t banks, const std::vector<uint32_t>& tasks) {
    const auto number = static_cast<int32_t>(problem_.buffer_banks.size());
    problem_.buffer_banks.push_back(banks);
    problem_.buffer_tasks.push_back(static_cast<int32_t>(tasks.size()));
    problem_.buffer_lives.push_back({tasks.front(), tasks.back()});
    for (const uint32_t index : tasks) task(index).buffers.push_back(number);
    return number;
  }
  void group(const std::vector<uint32_t>& tasks) {
    for (const uint32_t index : tasks) {
      task(index).group = static_cast<int32_t>(problem_.group_tasks.size());
    }
    problem_.group_tasks.push_back(static_cast<int32_t>(tasks.size()));
  }
  void plan_banks() { problem_.plan_banks = true; }

  bool run() {
    graph_ = {};
    graph_.first_successor.push_back(0);
    for (uint32_t i = 0; i < after_.size(); ++i) {
      graph_.waits.push_back(static_cast<int32_t>(after_[i].size()));
      for (uint32_t next = 0; next < after_.size(); ++next) {
        const auto& sources = after_[next];
        if (std::count(sources.begin(), sources.end(), i) > 0) graph_.successors.push_back(next);
      }
      graph_.first_successor.push_back(static_cast<uint32_t>(graph_.successors.size()));
    }
    Builder builder("banks", load_architecture("trn2"));
    const StraightLine line = *unroll(*builder.finish()).line;
    scheduler_ = std::make_unique<ListScheduler>(problem_, graph_, PsumBanks(line));
    return scheduler_->run();
  }
  const ListScheduler& result() const { return *scheduler_; }
  std::vector<int64_t> starts() const { return scheduler_->starts(); }

 private:
  ScheduleProblem problem_;
  std::vector<std::vector<uint32_t>> after_;
  InstanceGraph graph_;
  std::unique_ptr<ListScheduler> scheduler_;
};

using Starts = std::vector<int64_t>;
using Tasks = std::vector<uint32_t>;

TEST(ListScheduler, EnginesRunBesideEachOtherAndWaitForResults) {
  Problem problem(40, 120);
  problem.add(EngineKind::kVector, 100);
  problem.add(EngineKind::kScalar, 70);
  problem.add(EngineKind::kVector, 10, {1});  // 70 + 40, Vector is free at 100
  problem.add(EngineKind::kVector, 10, {0});  // 100 + 120: the result of its own pipeline
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 0, 110, 220}));
  EXPECT_EQ(problem.result().order(), (Tasks{0, 1, 2, 3}));
}

TEST(ListScheduler, TensorAndTransfersWaitAsLongForTheirOwnEngineAsForOthers) {
  Problem problem(40, 120);
  problem.add(EngineKind::kTensor, 100);
  problem.add(EngineKind::kTensor, 10, {0});
  problem.add(EngineKind::kScalar, 70);
  problem.task(problem.add(EngineKind::kScalar, 10, {2})).transfer = true;
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 140, 0, 110}));
}

TEST(ListScheduler, OfTwoThatCanStartTheLowerRankGoesFirst) {
  Problem problem;
  problem.add(EngineKind::kVector, 10);
  problem.add(EngineKind::kVector, 20);
  problem.task(0).rank = 5;
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{20, 0}));
}

TEST(ListScheduler, AnEngineNeverStandsWhileATaskIsReady) {
  Problem problem;
  problem.add(EngineKind::kScalar, 50);
  problem.add(EngineKind::kVector, 10, {0});  // comes first by rank, ready at 50
  problem.add(EngineKind::kVector, 60);       // can start at once
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 60, 0}));
}

TEST(ListScheduler, ATaskOfAnyEngineTakesTheFirstFreeAndScalarOfTwo) {
  for (const int64_t vector : {99, 100, 101}) {
    Problem problem;
    problem.add(EngineKind::kScalar, 100);
    problem.add(EngineKind::kVector, vector);
    const uint32_t copy = problem.add(EngineKind::kVector, 10);
    problem.task(copy).any_engine = true;
    problem.task(copy).vector_cost.issue = {10};
    ASSERT_TRUE(problem.run());
    EXPECT_EQ(problem.result().engines()[copy],
              vector < 100 ? EngineKind::kVector : EngineKind::kScalar);
    EXPECT_EQ(problem.starts()[copy], std::min<int64_t>(vector, 100));
  }
}

TEST(ListScheduler, MeetingsStartInProgramOrderAndDoNotWaitForEachOthersEnds) {
  for (const bool meets : {false, true}) {
    Problem problem;
    const uint32_t late = problem.add(EngineKind::kVector, 100);
    const uint32_t first = problem.add(EngineKind::kSync, 10, {late});
    const uint32_t second = problem.add(EngineKind::kScalar, 10);  // could start at once
    problem.task(first).meeting = problem.task(second).meeting = meets;
    problem.task(first).transfer = true;
    problem.task(first).cost.latency = {1000};
    ASSERT_TRUE(problem.run());
    EXPECT_EQ(problem.starts(), (Starts{0, 100, meets ? 100 : 0}));
  }
}

TEST(ListScheduler, TransfersShareOnePipe) {
  Problem problem;
  for (const EngineKind engine : {EngineKind::kSync, EngineKind::kGpSimd}) {
    Task& load = problem.task(problem.add(engine, 10));
    load.transfer = true;
    load.cost.transfer = {200};
    load.cost.latency = {1000};
  }
  problem.add(EngineKind::kVector, 1, {0});  // 10 + 200 + 1000
  problem.add(EngineKind::kScalar, 1, {1});  // the pipe is free at 210
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 0, 1210, 1410}));
}

TEST(ListScheduler, TheNinthBankIsFreeWhenTheFirstIsLeft) {
  Problem problem;
  for (int i = 0; i < 9; ++i) {
    const uint32_t write = problem.add(EngineKind::kTensor, 10);
    const uint32_t read = problem.add(EngineKind::kVector, 100, {write});
    problem.buffer(1, {write, read});
  }
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts()[14], 70);   // eighth product
  EXPECT_EQ(problem.starts()[16], 110);  // ninth: the first reader ran from 10 to 110
  EXPECT_EQ(problem.result().addresses()[8], problem.result().addresses()[0]);
}

TEST(ListScheduler, GroupsOfOneStatementDoNotInterleave) {
  Problem problem;
  const uint32_t late = problem.add(EngineKind::kSync, 50);
  const uint32_t a0 = problem.add(EngineKind::kTensor, 10);
  const uint32_t b0 = problem.add(EngineKind::kTensor, 10);
  const uint32_t a1 = problem.add(EngineKind::kTensor, 10, {late});
  const uint32_t b1 = problem.add(EngineKind::kTensor, 10);
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 0, 10, 50, 20}));
  problem.group({a0, a1});
  problem.group({b0, b1});
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 0, 60, 50, 70}));
}

TEST(ListScheduler, GroupsThatNeedEachOtherInterleaveAfterAll) {
  Problem problem;
  const uint32_t a0 = problem.add(EngineKind::kTensor, 10);
  const uint32_t b0 = problem.add(EngineKind::kTensor, 10);
  const uint32_t a1 = problem.add(EngineKind::kTensor, 10, {b0});
  const uint32_t b1 = problem.add(EngineKind::kTensor, 10);
  problem.group({a0, a1});
  problem.group({b0, b1});
  ASSERT_TRUE(problem.run());
  EXPECT_EQ(problem.starts(), (Starts{0, 10, 20, 30}));
}

/// Sums of two tiles: the first tiles of all, so many banks large, are there at once, the second
/// ones, one bank each, later.
Problem pairs(int count, int64_t banks = 1) {
  Problem problem;
  const uint32_t late = problem.add(EngineKind::kSync, 1000);
  for (int i = 0; i < count; ++i) {
    const uint32_t first = problem.add(EngineKind::kTensor, 10);
    const uint32_t second = problem.add(EngineKind::kTensor, 10, {late});
    const uint32_t sum = problem.add(EngineKind::kVector, 10, {first, second});
    problem.buffer(banks, {first, sum});
    problem.buffer(1, {second, sum});
  }
  return problem;
}

TEST(ListScheduler, GreedyBanksCanRunOutAndPlannedOnesDoNot) {
  Problem greedy = pairs(9, 2);
  EXPECT_FALSE(greedy.run());
  EXPECT_EQ(greedy.result().order().size(), 5U);  // the load and four first tiles
  Problem planned = pairs(9, 2);
  planned.plan_banks();
  ASSERT_TRUE(planned.run());
  // Three first tiles go ahead, as at least one bank must be left for a second tile.
  std::vector<int64_t> ahead;
  for (size_t i = 1; i < planned.starts().size(); i += 3) {
    if (planned.starts()[i] < 1000) ahead.push_back(planned.starts()[i]);
  }
  EXPECT_EQ(ahead, (Starts{0, 10, 20}));
}

TEST(ListScheduler, TilesGetBanksNoFurtherAheadThanThereAreBanks) {
  // Eight banks: the ninth tile after the first one without banks waits.
  Problem problem = pairs(9);
  ASSERT_TRUE(problem.run());
  std::vector<int64_t> ahead;
  for (size_t i = 1; i < problem.starts().size(); i += 3) {
    if (problem.starts()[i] < 1000) ahead.push_back(problem.starts()[i]);
  }
  EXPECT_EQ(ahead, (Starts{0, 10, 20, 30, 40}));  // tiles 0, 2, 4, 6 and 8; tile 1 is the first
}

TEST(ListScheduler, PlannedBanksOfProgramsThatNeedMoreAreRefused) {
  for (const int tiles : {8, 9}) {
    Problem problem;
    Tasks products;
    for (int i = 0; i < tiles; ++i) products.push_back(problem.add(EngineKind::kTensor, 10));
    const uint32_t sum = problem.add(EngineKind::kVector, 10, products);
    for (const uint32_t product : products) problem.buffer(1, {product, sum});
    problem.plan_banks();
    EXPECT_EQ(problem.run(), tiles == 8);
  }
}

TEST(BankForecast, LooksAtTheInstancesBetweenNowAndTheTurn) {
  // Two buffers of three banks over instances 2 to 4 and 4 to 6.
  BankForecast forecast(8, {{2, 4}, {4, 6}}, {3, 3}, 8);
  EXPECT_TRUE(forecast.is_possible());
  EXPECT_TRUE(forecast.allows(5, 4, 0));  // instances 0 to 3 find at most three taken
  EXPECT_FALSE(forecast.allows(6, 4, 0));
  EXPECT_TRUE(forecast.allows(2, 7, 0));  // instance 4 finds six taken
  EXPECT_FALSE(forecast.allows(3, 7, 0));
  EXPECT_TRUE(forecast.allows(3, 7, 5));  // which is over
  EXPECT_TRUE(forecast.allows(9, 5, 5));  // its turn
  forecast.give(2, 7, 0);
  EXPECT_FALSE(forecast.allows(1, 5, 4));
  EXPECT_TRUE(forecast.is_possible());
  EXPECT_FALSE(BankForecast(8, {{2, 4}, {4, 6}}, {3, 6}, 8).is_possible());
}

}  // namespace
}  // namespace neuron_sim
