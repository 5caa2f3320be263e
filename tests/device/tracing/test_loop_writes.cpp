#include "device/tracing/loop_writes.h"

#include <gtest/gtest.h>

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

/// A loop that opens when a trace has used tensors five times.
Loop opened_at_five(bool is_affine) {
  return {.name = "k",
          .trip_count = 4,
          .variable = Affine::variable(0),
          .is_affine = is_affine,
          .opened_at = 5};
}
const Loop kAffine = opened_at_five(true), kSequential = opened_at_five(false);

struct Write {
  const Loop* loop;
  Position partition, start;
  bool is_dynamic;
  StorageUses uses;
  LoopWrite expected;
};
class WriteInALoop : public testing::TestWithParam<Write> {};

TEST_P(WriteInALoop, IsRepeatedWhereIterationsWithoutOrderWriteTheSame) {
  const Write& given = GetParam();
  const TensorView target{0, {4, 6}, {1, 1}, given.partition, given.start, {}};
  EXPECT_EQ(write_in(*given.loop, target, given.is_dynamic, given.uses), given.expected);
}

const Position kOfIt = variable(kAffine, 0, 6).position;
constexpr StorageUses kBefore{1, 3};  // made and used before the loop

INSTANTIATE_TEST_SUITE_P(
    Addresses, WriteInALoop,
    testing::Values(Write{&kAffine, 0, 0, false, kBefore, LoopWrite::kRepeated},
                    Write{&kAffine, 2, 12, false, kBefore, LoopWrite::kRepeated},
                    Write{&kAffine, 0, kOfIt, false, kBefore, LoopWrite::kElsewhere},
                    Write{&kAffine, kOfIt, 0, false, kBefore, LoopWrite::kElsewhere},
                    Write{&kAffine, 0, 0, true, kBefore, LoopWrite::kElsewhere},
                    Write{&kAffine, 0, variable(outer).position, false, kBefore,
                          LoopWrite::kRepeated},
                    Write{&kAffine, 0, sum(kI, variable(kAffine)).position, false, kBefore,
                          LoopWrite::kElsewhere},
                    Write{&kSequential, 0, 0, false, kBefore, LoopWrite::kElsewhere},
                    Write{&kSequential, 0, variable(kSequential).position, false, kBefore,
                          LoopWrite::kElsewhere}));

INSTANTIATE_TEST_SUITE_P(
    Uses, WriteInALoop,
    testing::Values(Write{&kAffine, 0, 0, false, {4, 5}, LoopWrite::kRepeated},
                    Write{&kAffine, 0, 0, false, {5, 0}, LoopWrite::kFresh},
                    Write{&kAffine, 0, 0, false, {6, 7}, LoopWrite::kFresh},
                    Write{&kAffine, 0, 0, false, {0, 5}, LoopWrite::kRepeated},
                    Write{&kAffine, 0, 0, false, {0, 6}, LoopWrite::kFresh},
                    Write{&kAffine, 0, kOfIt, false, {0, 6}, LoopWrite::kFresh},
                    Write{&kSequential, 0, 0, false, {5, 0}, LoopWrite::kFresh},
                    Write{&kAffine, 0, 0, true, {0, 6}, LoopWrite::kFresh}));

TEST(ViewOfATile, CoversItWithAsManyElements) {
  const Sizes shape{4, 6}, blocks{2, 4, 3};
  EXPECT_TRUE(covers_tile({0, {4, 6}, {1, 1}, 0, 0, {}}, shape));
  EXPECT_TRUE(covers_tile({0, {4, 3, 2}, {1, 2, 1}, 0, 0, {}}, shape));
  EXPECT_TRUE(covers_tile({1, {2, 4, 3}, {3, 1, 1}, 0, 0, {}}, blocks));
  EXPECT_FALSE(covers_tile({0, {4, 5}, {1, 1}, 0, 0, {}}, shape));
  EXPECT_FALSE(covers_tile({0, {3, 6}, {1, 1}, 0, 0, {}}, shape));
  EXPECT_FALSE(covers_tile({-1, {4, 6}, {6, 1}, 0, 0, {}}, shape));
}

}  // namespace
}  // namespace neuron_sim::tracing
