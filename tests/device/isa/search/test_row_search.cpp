#include "device/isa/search/row_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

std::vector<float> row_of(int64_t count) {
  const std::vector<double> values = random_values(count, -1, 1);
  return {values.begin(), values.end()};
}

std::vector<int64_t> elements_within(const std::vector<float>& row, const FloatRange& range) {
  std::vector<int64_t> result;
  for_elements_within(row.data(), static_cast<int64_t>(row.size()), range, [&](int64_t i) {
    result.push_back(i);
    return true;
  });
  return result;
}

TEST(RowSearch, FindsTheElementsOfARangeInOrder) {
  for (const int64_t count : {1, 31, 32, 33, 511, 512, 513, 1500}) {
    std::vector<float> row = row_of(count);
    row.back() = 0.25F;
    std::vector<int64_t> expected;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] >= -0.5F && row[i] <= 0.25F) expected.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(elements_within(row, {-0.5F, 0.25F}), expected) << count;
    const float below = std::nextafter(0.25F, 0.0F);
    expected.pop_back();  // the one at the end lies on the edge
    EXPECT_EQ(elements_within(row, {-0.5F, below}), expected) << count;
  }
}

TEST(RowSearch, TakesNanForNoNumberAndBothZerosForOne) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t count : {5, 32, 37}) {
    std::vector<float> row(static_cast<size_t>(count), NAN);
    row[1] = -kInfinity, row[2] = kInfinity, row[3] = -0.0F, row[4] = 0.0F;
    EXPECT_EQ(elements_within(row, {-kInfinity, kInfinity}), (std::vector<int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(elements_within(row, {0.0F, 1.0F}), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(elements_within(row, {kInfinity, -kInfinity}), std::vector<int64_t>());
  }
}

TEST(RowSearch, EndsWhereTheVisitorSays) {
  const std::vector<float> row(1000, 1.0F);
  int64_t visited = 0;
  for_elements_within(row.data(), 1000, {1.0F, 1.0F}, [&](int64_t) { return ++visited < 600; });
  EXPECT_EQ(visited, 600);
}

}  // namespace
}  // namespace neuron_sim
