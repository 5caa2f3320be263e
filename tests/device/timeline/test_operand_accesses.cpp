#include "device/timeline/operand_accesses.h"

#include <gtest/gtest.h>

#include "device/program/cursor.h"
#include "tests/device/program/random_program.h"

namespace neuron_sim {
namespace {

/// Walks a core and compares the accesses of every instance with what its operands say.
class Comparison {
 public:
  Comparison(const Program& program, int64_t skipped)
      : program_(program),
        skipped_(skipped),
        pending_(static_cast<size_t>(program.hazard_groups)),
        accesses_(program, 0, pending_) {}

  int64_t trip_count(const Loop& loop) { return loop.bound; }
  /// Leaves out the third iteration and those after it, `skipped_` of them.
  int64_t boundary(const Loop&, uint32_t index, int64_t iteration, int64_t trips) {
    const int64_t skipped = iteration == 2 ? std::min(skipped_, trips - iteration) : 0;
    if (iteration + skipped < trips) accesses_.iterate(index, iteration + skipped);
    return skipped;
  }
  void instruction(uint32_t index, const int64_t* variables) {
    static constexpr std::array<int64_t, 64> kNoRegisters{};
    const auto operands = program_.operands_of(program_.instructions[index]);
    const auto found = accesses_.at(index, variables);
    size_t next = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (!operand.present()) continue;
      ASSERT_LT(next, found.size());
      const OperandAccess& access = found[next++];
      const Location location = locate(program_, operand, variables, kNoRegisters.data());
      EXPECT_EQ(access.operand, i);
      EXPECT_EQ(access.reads, operand.reads());
      EXPECT_EQ(access.writes, operand.writes());
      EXPECT_EQ(access.location.tile, location.tile);
      EXPECT_EQ(access.location.partition, location.partition);
      EXPECT_EQ(access.location.offset, location.offset);
      EXPECT_EQ(access.region, region_at(operand, location));
      const int32_t group = program_.tiles[static_cast<size_t>(location.tile)].hazard_group;
      EXPECT_EQ(access.pending, group < 0 ? nullptr : &pending_[static_cast<size_t>(group)]);
      ++compared;
    }
    EXPECT_EQ(next, found.size());
  }
  void meet(const Meeting&) {}

  int64_t compared = 0;

 private:
  const Program& program_;
  int64_t skipped_;
  std::vector<PendingAccesses> pending_;
  OperandAccesses accesses_;
};

int64_t compare(const Program& program, int64_t skipped) {
  Comparison comparison(program, skipped);
  Cursor<Comparison>(program, comparison).walk();
  return comparison.compared;
}

int64_t compare_random(const RandomProgramOptions& options, int64_t skipped) {
  int64_t compared = 0;
  for (uint64_t seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomProgram(seed, load_architecture("trn2"), options).build();
    compared += compare(*program, skipped);
  }
  return compared;
}

TEST(OperandAccesses, AreThoseOfTheOperandsInEveryInstance) {
  RandomProgramOptions options{.depth = 3, .moving_windows = 60};
  EXPECT_GT(compare_random(options, 0), 10'000);
}

TEST(OperandAccesses, FollowLoopsThatLeaveIterationsOut) {
  RandomProgramOptions options{.longest_loop = 12, .moving_windows = 60};
  EXPECT_GT(compare_random(options, 4), 10'000);
}

TEST(OperandAccesses, TurnRingsBackwardsAndFurtherThanOnce) {
  Builder b("turns", load_architecture("trn2"));
  const View ring = b.sbuf("ring", {128, 64}, Dtype::kFloat32, 3);
  b.loop(5, [&](const Affine& i) {
    b.loop(7, [&](const Affine& j) {
      b.emit(Memset{.dst = ring.turn(i * -2 + j * 5 + 1).slice(1, i * 8 + j * 4, 4)});
    });
    b.emit(Memset{.dst = ring.turn(i * -7).slice(0, i * 16, 16)});
  });
  EXPECT_EQ(compare(*b.finish(), 0), 40);
}

TEST(OperandAccesses, OfLoopsTooLargeToPlanAreTheSame) {
  Builder b("large", load_architecture("trn2"));
  const View ring = b.sbuf("ring", {128, 64}, Dtype::kFloat32, 2);
  b.loop(2, [&](const Affine& i) {
    for (int64_t k = 0; k < 17'000; ++k) {
      b.emit(Memset{.dst = ring.turn(i + k).slice(1, i * 8, 4)});
    }
  });
  EXPECT_EQ(compare(*b.finish(), 0), 34'000);
}

}  // namespace
}  // namespace neuron_sim
