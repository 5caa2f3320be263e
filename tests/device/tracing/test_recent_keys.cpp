#include "device/tracing/recent_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/device/tracing/evaluation.h"

namespace neuron_sim::tracing {
namespace {

PartKey key_of(const std::vector<int64_t>& numbers) {
  PartKey key;
  for (const int64_t number : numbers) EXPECT_TRUE(key.append(number));
  return key;
}
template <class... Expressions>
std::vector<int64_t> numbers_of(const Expressions&... expressions) {
  PartKey key;
  EXPECT_TRUE((key.append(expressions) && ...));
  return {key.numbers().begin(), key.numbers().end()};
}

TEST(PartKey, HoldsAsManyNumbersAsItSaysAndNoMore) {
  PartKey key;
  for (size_t k = 0; k < PartKey::kCapacity; ++k) {
    EXPECT_TRUE(key.append(static_cast<int64_t>(k)));
  }
  EXPECT_FALSE(key.append(int64_t{64}));
  EXPECT_FALSE(key.append_address(&key));
  EXPECT_FALSE(key.append(kI));
  EXPECT_EQ(key.numbers().size(), PartKey::kCapacity);
  EXPECT_EQ(key.numbers().back(), 63);
}

TEST(PartKey, TakesNoExpressionOfWhichOnlyAPartFits) {
  PartKey key;
  for (size_t k = 0; k < PartKey::kCapacity - 5; ++k) key.append(int64_t{1});
  EXPECT_FALSE(key.append(kI));  // constant, count, loop, coefficient, rank, rank
  PartKey other;
  for (size_t k = 0; k < PartKey::kCapacity - 6; ++k) other.append(int64_t{1});
  EXPECT_TRUE(other.append(kI));
}

TEST(PartKey, DiffersForAllExpressionsThatDiffer) {
  const IndexExpression all[] = {{},
                                 {1, {}, {}},
                                 kI,
                                 kJ,
                                 scaled(kI, 2),
                                 scaled(kI, 1, 1),
                                 sum(kI, kJ),
                                 arange(0, 4),
                                 arange(0, 5),
                                 arange(0, 4, 2),
                                 arange(1, 4),
                                 {0, {1, 4}, {0, 1}},
                                 {0, {4, 1}, {1, 0}},
                                 sum(kI, arange(0, 4))};
  for (const IndexExpression& a : all) {
    for (const IndexExpression& b : all) EXPECT_EQ(numbers_of(a) == numbers_of(b), a == b);
  }
  EXPECT_NE(numbers_of(kI, kJ), numbers_of(kJ, kI));
  EXPECT_NE(numbers_of(arange(0, 4), kI), numbers_of(kI, arange(0, 4)));
}

TEST(PartKey, HashesTheOrderOfItsNumbers) {
  EXPECT_EQ(key_of({1, 2, 3}).hash(), key_of({1, 2, 3}).hash());
  EXPECT_NE(key_of({1, 2, 3}).hash(), key_of({2, 1, 3}).hash());
  EXPECT_NE(key_of({1, 2, 3}).hash(), key_of({1, 2, 4}).hash());
}

TEST(RecentKeys, KnowAKeyOnceItIsKept) {
  RecentKeys keys;
  EXPECT_FALSE(keys.find(key_of({5, 6})));
  const size_t place = keys.keep(key_of({5, 6}));
  EXPECT_EQ(keys.find(key_of({5, 6})), place);
  EXPECT_FALSE(keys.find(key_of({5})));
  EXPECT_FALSE(keys.find(key_of({5, 6, 7})));
  EXPECT_FALSE(keys.find(key_of({5, 7})));
}

TEST(RecentKeys, AreForgottenByAnAssignment) {
  RecentKeys keys;
  keys.keep(key_of({5, 6}));
  keys = {};
  EXPECT_FALSE(keys.find(key_of({5, 6})));
}

TEST(RecentKeys, ReplaceTheOldestOfASetOfFour) {
  RecentKeys keys;
  // Of the numbers 0, 1, ... those that share the set of 0.
  std::vector<int64_t> same;
  const size_t first = keys.keep(key_of({0})) / RecentKeys::kPlaces;
  for (int64_t number = 1; same.size() < 5; ++number) {
    RecentKeys other;
    if (other.keep(key_of({number})) / RecentKeys::kPlaces == first) same.push_back(number);
  }
  for (size_t k = 0; k < 3; ++k) keys.keep(key_of({same[k]}));
  EXPECT_TRUE(keys.find(key_of({0})));
  keys.keep(key_of({same[3]}));
  EXPECT_FALSE(keys.find(key_of({0})));
  for (size_t k = 0; k < 4; ++k) EXPECT_TRUE(keys.find(key_of({same[k]}))) << k;
  keys.find(key_of({same[0]}));  // which does not make it newer
  keys.keep(key_of({same[4]}));
  EXPECT_FALSE(keys.find(key_of({same[0]})));
  EXPECT_TRUE(keys.find(key_of({same[1]})));
}

TEST(RecentKeys, NeverHaveTwoKeysInOnePlace) {
  RecentKeys keys;
  Draws draws(7);
  std::map<size_t, std::vector<int64_t>> owner;
  size_t hits = 0;
  for (int step = 0; step < 4000; ++step) {
    const std::vector<int64_t> numbers{draws.number(0, 9), draws.number(0, 9)};
    const std::optional<size_t> place = keys.find(key_of(numbers));
    if (place) {
      ++hits;
      EXPECT_EQ(owner[*place], numbers);
    } else {
      const size_t made = keys.keep(key_of(numbers));
      EXPECT_LT(made, RecentKeys::kCount);
      owner[made] = numbers;
    }
  }
  EXPECT_GT(hits, 2000U);  // of 100 keys in 128 places
}

}  // namespace
}  // namespace neuron_sim::tracing
