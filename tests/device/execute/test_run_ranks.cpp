// Several ranks side by side: the bytes of collectives against a plain oracle.

#include "device/execute/run_ranks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/isa/dma/dma_copy.h"
#include "device/isa/sequencing/rank_id.h"
#include "device/isa/sequencing/register_store.h"
#include "tests/device/execute/ranks.h"

namespace neuron_sim {
namespace {

using namespace ranks;  // NOLINT(google-build-using-namespace): helpers of these tests
constexpr Dtype kFloat = Dtype::kFloat32;

TEST(RunRanks, ReduceInEveryDtypeAndOperator) {
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kUint16, Dtype::kInt32, Dtype::kUint32,
                            Dtype::kFloat8E4m3, Dtype::kFloat16, Dtype::kBfloat16, kFloat}) {
    for (const AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kMaximum}) {
      RankedRun ranks(
          collective_of(CollectiveKind::kAllReduce, {3, 5}, {3, 5}, {{2, 0, 1}}, dtype, op), 3);
      for (size_t rank = 0; rank < 3; ++rank) ranks.set(rank, numbers(rank, 15));
      ranks.run();
      for (size_t i = 0; i < 15; ++i) {
        double expected = numbers(2, 15)[i];
        for (const size_t rank : {0, 1}) {
          const double value = numbers(rank, 15)[i];
          expected = op == AluOp::kAdd       ? expected + value
                     : op == AluOp::kMinimum ? std::min(expected, value)
                                             : std::max(expected, value);
        }
        for (size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.get(rank)[i], expected);
      }
    }
  }
}

TEST(RunRanks, RoundASumOnce) {
  // 1 + 2^-8 + 2^-8 is 1 + 2^-7 in bfloat16; rounded after every step it would stay 1.
  RankedRun ranks(
      collective_of(CollectiveKind::kAllReduce, {1}, {1}, {{0, 1, 2}}, Dtype::kBfloat16), 3);
  ranks.set(0, {1});
  ranks.set(1, {1.0F / 256});
  ranks.set(2, {1.0F / 256});
  ranks.run();
  EXPECT_EQ(ranks.get(1)[0], 1.0F + 1.0F / 128);
}

TEST(RunRanks, SumIntegersExactlyAndKeepNotANumber) {
  RankedRun integers(collective_of(CollectiveKind::kAllReduce, {1}, {1}, {{0, 1}}, Dtype::kInt32),
                     2);
  const int32_t values[] = {(1 << 24) + 1, 1 << 24};
  for (size_t rank = 0; rank < 2; ++rank) {
    std::memcpy(integers.at(rank, 0).data(), &values[rank], sizeof(int32_t));
  }
  integers.run();
  int32_t sum = 0;
  std::memcpy(&sum, integers.at(0, 1).data(), sizeof sum);
  EXPECT_EQ(sum, (1 << 25) + 1);

  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kMaximum}) {
    RankedRun floats(collective_of(CollectiveKind::kAllReduce, {2}, {2}, {{0, 1}}, kFloat, op), 2);
    floats.set(0, {nan, 1});
    floats.set(1, {1, nan});
    floats.run();
    for (const float value : floats.get(1)) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(RunRanks, GatherInTheOrderOfTheGroup) {
  RankedRun ranks(collective_of(CollectiveKind::kAllGather, {2, 3}, {4, 3}, {{3, 0}, {1, 2}}), 4);
  for (size_t rank = 0; rank < 4; ++rank) ranks.set(rank, numbers(rank, 6));
  ranks.run();
  const std::vector<std::array<size_t, 3>> gathered = {{0, 3, 0}, {3, 3, 0}, {1, 1, 2}};
  for (const auto& [rank, first, second] : gathered) {
    Values expected = numbers(first, 6);
    const Values rest = numbers(second, 6);
    expected.insert(expected.end(), rest.begin(), rest.end());
    EXPECT_EQ(ranks.get(rank), expected) << rank;
  }
}

TEST(RunRanks, GatherRowsOfTiles) {
  const auto program =
      program_of({5, 2}, {5, 6}, kFloat, [](Builder& builder, const View& x, const View& y) {
        const View in = builder.sbuf("in", {5, 2}, kFloat),
                   out = builder.sbuf("out", {5, 6}, kFloat);
        builder.emit(DmaCopy{.dst = in, .src = x});
        Collective gather{CollectiveKind::kAllGather, out, in, groups({{0, 1, 2}})};
        gather.dimension = 1;
        builder.emit(gather);
        builder.emit(DmaCopy{.dst = y, .src = out});
      });
  RankedRun ranks(program, 3);
  for (size_t rank = 0; rank < 3; ++rank) ranks.set(rank, numbers(rank, 10));
  ranks.run();
  const Values result = ranks.get(2);
  for (size_t row = 0; row < 5; ++row) {
    for (size_t column = 0; column < 6; ++column) {
      EXPECT_EQ(result[row * 6 + column], numbers(column / 2, 10)[row * 2 + column % 2]);
    }
  }
}

TEST(RunRanks, ScatterWhatTheyReduce) {
  RankedRun ranks(collective_of(CollectiveKind::kReduceScatter, {6, 1}, {2, 1}, {{0, 1, 2}}), 3);
  for (size_t rank = 0; rank < 3; ++rank) ranks.set(rank, numbers(rank, 6));
  ranks.run();
  for (size_t rank = 0; rank < 3; ++rank) {
    for (size_t i = 0; i < 2; ++i) {
      const size_t at = rank * 2 + i;
      EXPECT_EQ(ranks.get(rank)[i], numbers(0, 6)[at] + numbers(1, 6)[at] + numbers(2, 6)[at]);
    }
  }
}

TEST(RunRanks, ExchangeTheirParts) {
  for (const int64_t dimension : {0, 1}) {
    const std::vector<int64_t> shape =
        dimension == 0 ? std::vector<int64_t>{6, 2} : std::vector<int64_t>{2, 6};
    RankedRun ranks(collective_of(CollectiveKind::kAllToAll, shape, shape, {{0, 1, 2}}, kFloat,
                                  AluOp::kAdd, dimension),
                    3);
    for (size_t rank = 0; rank < 3; ++rank) ranks.set(rank, numbers(rank, 12));
    ranks.run();
    for (size_t rank = 0; rank < 3; ++rank) {
      for (size_t i = 0; i < 12; ++i) {
        const size_t row = dimension == 0 ? 0 : i / 6, part = dimension == 0 ? i / 4 : i % 6 / 2;
        const size_t inside = dimension == 0 ? i % 4 : i % 2, size = dimension == 0 ? 4 : 2;
        const size_t source = row * 6 + rank * size + inside;
        EXPECT_EQ(ranks.get(rank)[i], numbers(part, 12)[source]) << rank << " " << i;
      }
    }
  }
}

TEST(RunRanks, PassTensorsOnAlongARing) {
  RankedRun ranks(collective_of(CollectiveKind::kPermuteImplicit, {2, 3}, {2, 3}, {{0, 2, 1}, {3}}),
                  5);
  for (size_t rank = 0; rank < 5; ++rank) {
    ranks.set(rank, numbers(rank, 6));
    ranks.set(rank, Values(6, -1), 1);
  }
  ranks.run();
  EXPECT_EQ(ranks.get(2), numbers(0, 6));
  EXPECT_EQ(ranks.get(1), numbers(2, 6));
  EXPECT_EQ(ranks.get(0), numbers(1, 6));
  EXPECT_EQ(ranks.get(3), numbers(3, 6));
  EXPECT_EQ(ranks.get(4), Values(6, -1));  // in no group: untouched
}

TEST(RunRanks, PassOnWhatTheyReduce) {
  const auto program =
      program_of({4}, {4}, kFloat, [](Builder& builder, const View& x, const View& y) {
        Collective permute{CollectiveKind::kPermuteImplicitReduce, y, x, groups({{0, 1, 2}})};
        permute.other = y;  // in place: all ranks read before one writes
        permute.op = AluOp::kMaximum;
        builder.emit(permute);
      });
  RankedRun ranks(program, 3);
  for (size_t rank = 0; rank < 3; ++rank) {
    ranks.set(rank, numbers(rank, 4));
    ranks.set(rank, numbers(rank + 3, 4), 1);
  }
  ranks.run();
  for (size_t rank = 0; rank < 3; ++rank) {
    const size_t before = (rank + 2) % 3;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(ranks.get(rank)[i], std::max(numbers(before, 4)[i], numbers(before + 3, 4)[i]));
    }
  }
}

TEST(RunRanks, AreOneRankAlone) {
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll, CollectiveKind::kPermuteImplicit}) {
    RankedRun ranks(collective_of(kind, {3, 2}, {3, 2}, {{0}}), 1);
    ranks.set(0, numbers(1, 6));
    ranks.run();
    EXPECT_EQ(ranks.get(0), numbers(1, 6));
  }
}

TEST(RunRanks, KnowTheirNumbers) {
  Builder builder("numbered", load_architecture("trn2"));
  const View out = builder.argument("out", {1, 1}, Dtype::kInt32);
  const int number = builder.allocate_register();
  builder.emit(RankId{number});
  builder.emit(RegisterStore{out, number});
  RankedRun ranks(builder.finish(), 4);
  ranks.run();
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(ranks.get(rank, 0)[0], static_cast<float>(rank));
}

TEST(RunRanks, MeetOftenInALoop) {
  // Every rank ends with the tensor of the rank `trips` places before it.
  const auto program =
      program_of({8}, {8}, kFloat, [](Builder& builder, const View& x, const View& y) {
        builder.emit(DmaCopy{.dst = y, .src = x});
        builder.loop(70, [&](const Affine&) {
          builder.emit(
              Collective{CollectiveKind::kPermuteImplicit, y, y, groups({{0, 1, 2, 3, 4}})});
        });
      });
  RankedRun ranks(program, 5);
  for (size_t rank = 0; rank < 5; ++rank) ranks.set(rank, numbers(rank, 8));
  ranks.run();
  for (size_t rank = 0; rank < 5; ++rank) EXPECT_EQ(ranks.get(rank), numbers(rank, 8));
}

}  // namespace
}  // namespace neuron_sim
