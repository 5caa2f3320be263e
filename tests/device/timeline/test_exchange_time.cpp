#include "device/timeline/exchange_time.h"

#include <gtest/gtest.h>

#include <numeric>

namespace neuron_sim {
namespace {

constexpr int64_t kChip = 2;  // NeuronCores of a chip of trn1

ReplicaGroups one_group(int64_t ranks) {
  std::vector<int64_t> list(static_cast<size_t>(ranks));
  std::iota(list.begin(), list.end(), 0);
  return {{list}};
}

ExchangeTime time_of(const Exchange& exchange, const ReplicaGroups& groups) {
  return exchange_time(load_architecture("trn1"), exchange, groups, kChip);
}

double transfer(const Exchange& exchange, const ReplicaGroups& groups) {
  return time_of(exchange, groups).transfer.nanoseconds();
}

// What trn1.toml says: 16 DMA engines of 17 bytes/ns, half of that while they reduce; 192 bytes/ns
// from chip to chip.
constexpr double kCopy = 16 * 17, kReduce = kCopy / 2, kLink = 192;

TEST(ExchangeTime, AnAllReduceIsAReduceScatterAndAnAllGather) {
  for (const int64_t ranks : {2, 3, 8, 24, 32, 33, 64}) {  // to two instances of 16 chips
    for (const int64_t bytes : {int64_t{0}, int64_t{1000}, int64_t{1} << 20, int64_t{1} << 27}) {
      const ReplicaGroups group = one_group(ranks);
      const ExchangeTime whole = time_of(reduce_and_gather({bytes}), group);
      const ExchangeTime reduced = time_of({.buffer = {bytes}, .copying = 0, .reducing = 1}, group);
      const ExchangeTime gathered = time_of({.buffer = {bytes}}, group);
      EXPECT_EQ(whole.latency, reduced.latency + gathered.latency) << ranks << " " << bytes;
      EXPECT_NEAR(whole.transfer.nanoseconds(),
                  (reduced.transfer + gathered.transfer).nanoseconds(), 2e-3)
          << ranks << " ranks, " << bytes << " bytes";
      EXPECT_STREQ(whole.algorithm, gathered.algorithm);
    }
  }
}

TEST(ExchangeTime, EachPassGoesAtTheRateOfItsSlowestWay) {
  // 24 ranks on 12 chips: the links are slower than engines that copy and faster than ones that
  // reduce.
  const double bytes = 24e6, sent = 23e6, crossing = 22e6;
  ASSERT_LT(sent / kCopy, crossing / kLink);
  ASSERT_LT(crossing / kLink, sent / kReduce);
  EXPECT_NEAR(transfer(reduce_and_gather({static_cast<int64_t>(bytes)}), one_group(24)),
              sent / kReduce + crossing / kLink, 1e-2);
}

TEST(ExchangeTime, LinksOfInferentia2AreHalfAsFastAndItsInstancesSmaller) {
  const Architecture& inf2 = load_architecture("inf2");
  const Exchange exchange = reduce_and_gather({24'000'000});
  const auto duration = [&](const Architecture& architecture, int64_t ranks) {
    return exchange_time(architecture, exchange, one_group(ranks), kChip);
  };
  EXPECT_EQ(duration(inf2, 2).transfer, time_of(exchange, one_group(2)).transfer);  // in a chip
  // Both passes wait for the links.
  EXPECT_NEAR(duration(inf2, 24).transfer.nanoseconds(), 2 * 22e6 / (kLink / 2), 1e-2);
  EXPECT_EQ(duration(inf2, 24).latency, time_of(exchange, one_group(24)).latency);
  EXPECT_GT(duration(inf2, 26).latency, time_of(exchange, one_group(26)).latency * 5);
}

TEST(ExchangeTime, AChipThatIsNotFullReceivesMoreThanFullOnes) {
  // The last of three ranks is alone on its chip, which receives two thirds of the buffer.
  EXPECT_NEAR(transfer({.buffer = {1 << 20}}, one_group(3)), (1 << 20) * (2.0 / 3) / kLink, 1e-2);
}

TEST(ExchangeTime, OnlyTheRootsChipServesAllOthers) {
  // Root 4 is alone on its chip, with two ranks on another one; root 0 has one rank elsewhere.
  const Exchange rooted{ExchangePattern::kRoot, {3 << 20}};
  const ReplicaGroups alone{{{4, 0, 1}}}, together{{{0, 1, 4}}};
  EXPECT_NEAR(transfer(rooted, alone), (2 << 20) / kLink, 1e-2);
  EXPECT_NEAR(transfer(rooted, together), (2 << 20) / kCopy, 1e-2);
}

TEST(ExchangeTime, TheSlowestGroupDecides) {
  const ReplicaGroups groups{{{0, 1}, {2, 4}}};  // the first within a chip, the second between two
  EXPECT_EQ(time_of({.buffer = {1 << 24}}, groups).latency,
            time_of({.buffer = {1 << 24}}, {{{2, 4}}}).latency);
  EXPECT_STREQ(time_of({.buffer = {1 << 24}}, groups).algorithm, "rdh");
  EXPECT_STREQ(time_of({ExchangePattern::kRing, {1 << 24}}, groups).algorithm, "ring");
  EXPECT_STREQ(time_of({}, {{{5}}}).algorithm, "none");
}

}  // namespace
}  // namespace neuron_sim
