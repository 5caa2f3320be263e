#include "device/numerics/reduction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/base/errors.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

/// The documented order, written out with floats: sixteen partial results, then halves.
float ordered_sum_of(const std::vector<float>& values) {
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

TEST(Reduction, AddsInTheDocumentedOrderToTheBit) {
  for (int64_t size = 1; size <= 70; ++size) {
    std::vector<float> values;
    for (const double value : random_values(size, -4, 4, static_cast<unsigned>(size))) {
      values.push_back(static_cast<float>(value));
    }
    EXPECT_EQ(reduce(AluOp::kAdd, values.data(), size), ordered_sum_of(values)) << size;
  }
}

TEST(Reduction, ASumOfNegativeZerosIsZero) {
  const std::vector<float> zeros(20, -0.0F);
  EXPECT_FALSE(std::signbit(reduce(AluOp::kAdd, zeros.data(), 1)));
  EXPECT_FALSE(std::signbit(reduce(AluOp::kAdd, zeros.data(), 20)));
  EXPECT_TRUE(std::signbit(reduce(AluOp::kMaximum, zeros.data(), 20)));
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
