#include "device/numerics/reduction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/base/errors.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::vector<float> values;
  for (const double value : random_values(count, -4, 4, seed)) {
    values.push_back(static_cast<float>(value));
  }
  return values;
}

float in_order(float start, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) start += values[i];
  return start;
}

/// Scalar's documented order, written out: sixteen partial results, then halves.
float sum_in_partials(const std::vector<float>& values) {
  std::vector<float> partials;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i < 16) {
      partials.push_back(values[i]);
    } else {
      partials[i % 16] += values[i];
    }
  }
  for (const size_t half : {8, 4, 2, 1}) {
    for (size_t l = 0; l < half && l + half < partials.size(); ++l) {
      partials[l] += partials[l + half];
    }
    partials.resize(std::min(partials.size(), half));
  }
  return partials[0];
}

TEST(Reduction, AddsInTheOrderOfEachEngineToTheBit) {
  for (int64_t size = 1; size <= 70; ++size) {
    const std::vector<float> values = random_floats(size, static_cast<unsigned>(size));
    EXPECT_EQ(reduce(AluOp::kAdd, values.data(), size), in_order(0, values.data(), size)) << size;
    EXPECT_EQ(reduce_in_partials(AluOp::kAdd, values.data(), size), sum_in_partials(values))
        << size;
  }
}

TEST(Reduction, SumsOfRowsSideBySideHaveTheBytesOfEachAlone) {
  for (int64_t rows = 1; rows <= kRowsAtOnce; ++rows) {
    for (const int64_t count : {0, 1, 7, 8, 15, 16, 17, 31, 33, 100}) {
      const std::vector<float> values = random_floats(rows * 101, static_cast<unsigned>(rows));
      std::vector<const float*> starts;
      std::vector<float> sums, expected;
      for (int64_t row = 0; row < rows; ++row) {
        starts.push_back(values.data() + row * 101);
        sums.push_back(static_cast<float>(row));
        expected.push_back(in_order(sums.back(), starts.back(), count));
      }
      add_in_order(starts.data(), rows, count, sums.data());
      EXPECT_EQ(sums, expected) << rows << " rows of " << count;
    }
  }
}

TEST(Reduction, ASumOfNegativeZerosIsZero) {
  const std::vector<float> zeros(20, -0.0F);
  EXPECT_FALSE(std::signbit(reduce(AluOp::kAdd, zeros.data(), 1)));
  EXPECT_FALSE(std::signbit(reduce(AluOp::kAdd, zeros.data(), 20)));
  EXPECT_TRUE(std::signbit(reduce(AluOp::kMaximum, zeros.data(), 20)));
}

TEST(Reduction, MultipliesFromLeftToRight) {
  const std::vector<float> values = {1e30F, 1e-30F, 1e30F, 1e-30F};
  EXPECT_EQ(reduce(AluOp::kMultiply, values.data(), 4), 1e30F * 1e-30F * 1e30F * 1e-30F);
  const std::vector<float> overflows = {1e30F, 1e30F, 1e-30F, 1e-30F};
  EXPECT_EQ(reduce(AluOp::kMultiply, overflows.data(), 4), INFINITY);
}

TEST(Reduction, SubtractsFromLeftToRight) {
  const std::vector<float> values = {16777216, 1, 1, -3};
  EXPECT_EQ(reduce(AluOp::kSubtract, values.data(), 1), 16777216);
  EXPECT_EQ(reduce(AluOp::kSubtract, values.data(), 3), 16777214);
  EXPECT_EQ(reduce(AluOp::kSubtract, values.data(), 4), 16777216);  // 16777217 to nearest even
}

TEST(Reduction, StartsFromTheValueThatChangesNothing) {
  for (const AluOp op : {AluOp::kAdd, AluOp::kMultiply, AluOp::kMaximum, AluOp::kMinimum}) {
    for (const float value : {-2.5F, 0.0F, 3e38F, -INFINITY}) {
      EXPECT_EQ(apply(op, reduction_identity(op), value), value) << name(op);
    }
  }
  EXPECT_EQ(reduction_identity(AluOp::kSubtract), 0);
  EXPECT_THROW(reduction_identity(AluOp::kLogicalAnd), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
