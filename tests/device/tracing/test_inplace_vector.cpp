#include "device/tracing/inplace_vector.h"

#include <gtest/gtest.h>

#include <vector>

namespace neuron_sim::tracing {
namespace {

using Three = InplaceVector<int, 3>;
std::vector<int> values(const Three& of) { return {of.begin(), of.end()}; }

TEST(InplaceVector, IsEmptyUntilItIsFullAtItsCapacity) {
  Three vector;
  for (const int value : {7, 8, 9}) {
    EXPECT_EQ(vector.empty(), value == 7);
    EXPECT_FALSE(vector.is_full());
    vector.push_back(value);
  }
  EXPECT_TRUE(vector.is_full());
  EXPECT_EQ(values(vector), (std::vector{7, 8, 9}));
}

TEST(InplaceVector, GrowsByAValueAndShrinksToItsFirstOnes) {
  Three vector{5};
  vector.resize(3, 4);
  EXPECT_EQ(values(vector), (std::vector{5, 4, 4}));
  vector.resize(1, 9);
  EXPECT_EQ(values(vector), (std::vector{5}));
  vector.resize(2, 6);  // not what was there before
  EXPECT_EQ(values(vector), (std::vector{5, 6}));
}

TEST(InplaceVector, LosesTheFirstTheMiddleOrTheLastValue) {
  for (const size_t gone : {0, 1, 2}) {
    Three vector{1, 2, 3};
    std::vector expected{1, 2, 3};
    vector.erase(vector.begin() + gone);
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(gone));
    EXPECT_EQ(values(vector), expected);
  }
}

TEST(InplaceVector, IsEqualByItsValuesAndNotByWhatFollowsThem) {
  Three a{1, 2, 3}, b{1, 2, 4};
  EXPECT_FALSE(a == b);
  a.resize(2, 0);
  b.resize(2, 0);
  EXPECT_EQ(a, b);
  b.push_back(4);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(b == a);
}

TEST(InplaceVector, IsCopiedAsFarAsItGoes) {
  const Three a{1, 2};
  Three copy = a, assigned{4, 5, 6};
  assigned = a;
  copy[0] = 9;
  EXPECT_EQ(values(copy), (std::vector{9, 2}));
  EXPECT_EQ(values(assigned), (std::vector{1, 2}));
  EXPECT_EQ(values(Three(2, 8)), (std::vector{8, 8}));
}

}  // namespace
}  // namespace neuron_sim::tracing
