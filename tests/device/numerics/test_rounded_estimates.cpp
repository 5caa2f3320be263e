#include "device/numerics/rounded_estimates.h"

#include <gtest/gtest.h>

#include <vector>

namespace neuron_sim::activation_functions {
namespace {

/// x, wrong by nearly half of what it admits.
struct Crude {
  template <typename Doubles>
  inline __attribute__((always_inline)) Estimate<Doubles> operator()(const Doubles& x) const {
    return {x + x * (0x1p-24 * 0.6), magnitude(x) * 0x1p-24};
  }
};

TEST(RoundedEstimates, TheExactFunctionDecidesWhereTheEstimateDoesNot) {
  for (const int64_t count : {1, 127, 128, 129, 1000}) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(0.1F + static_cast<float>(i));
    const std::vector<float> expected = values;
    map_estimated(values.data(), values.data(), count, widest_vectors(), Crude(),
                  [](float x) { return x; });
    EXPECT_EQ(values, expected) << count;
  }
}

TEST(RoundedEstimates, AnExactEstimateIsTaken) {
  const auto exact_estimate = [](const auto& x) __attribute__((always_inline)) {
    return Estimate<std::decay_t<decltype(x)>>{x * 2.0, x * 0.0};
  };
  std::vector<float> values(300, 1.5F);
  int64_t asked = 0;
  map_estimated(values.data(), values.data(), 300, widest_vectors(), exact_estimate, [&](float x) {
    ++asked;
    return x * 2;
  });
  EXPECT_EQ(values, std::vector<float>(300, 3.0F));
  EXPECT_EQ(asked, widest_vectors() == Vectors::kEveryHost ? 300 : 0);
}

}  // namespace
}  // namespace neuron_sim::activation_functions
