#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "device/numerics/activation_loops.h"

namespace neuron_sim {
namespace {

using activation_functions::apply_exponential;
using activation_functions::apply_special;

/// Every 4099th bit pattern of fp32 (about a million: infinities, NaNs of both signs and denormals
/// among them), and the values around 0 and around the ends of the exponential's range.
std::vector<float> many_values() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const float edge : {0.0F, 88.72284F, 103.97208F, 110.0F, 10.7F, 15.0F}) {
    const auto bits = std::bit_cast<uint32_t>(edge);
    for (uint32_t step = 0; step < 100; ++step) {
      values.push_back(std::bit_cast<float>(bits + step));
      values.push_back(-std::bit_cast<float>(bits + step));
      if (bits > step) values.push_back(std::bit_cast<float>(bits - step));
    }
  }
  for (const uint32_t bits : {0x7f800000U, 0xff800000U, 0x7fc00000U, 0xffc00000U, 0x7f800001U,
                              0xffbfffffU, 0x7fffffffU, 1U, 0x80000001U, 0x007fffffU}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

/// Whether the bytes are equal or both are NaN: IEEE 754 leaves the sign and payload of a computed
/// NaN open, and compilers that order the operands of a product differently give different ones.
bool same_result(float actual, float expected) {
  return std::memcmp(&actual, &expected, sizeof(float)) == 0 ||
         (std::isnan(actual) && std::isnan(expected));
}

using Apply = bool (*)(Activation, const float*, float*, int64_t, Vectors);

/// How many functions `apply` has, whose bytes are the same in all vectors that the host has.
int functions_of_equal_bytes(Apply apply) {
  const std::vector<float> values = many_values();
  const auto count = static_cast<int64_t>(values.size());
  int functions = 0;
  for (int i = 0; i < kActivationCount; ++i) {
    const auto function = static_cast<Activation>(i);
    std::vector<float> expected(values.size());
    if (!apply(function, values.data(), expected.data(), count, Vectors::kEveryHost)) {
      continue;
    }
    ++functions;
    for (int wider = 1; wider < kVectorsCount; ++wider) {
      const auto vectors = static_cast<Vectors>(wider);
      if (vectors > widest_vectors()) continue;
      std::vector<float> actual = values;  // in place
      apply(function, actual.data(), actual.data(), count, vectors);
      for (size_t k = 0; k < values.size(); ++k) {
        if (same_result(actual[k], expected[k])) continue;
        ADD_FAILURE() << name(function) << " of " << values[k] << ", vectors " << wider;
        return functions;
      }
    }
  }
  return functions;
}

TEST(ExponentialFunctions, HaveTheSameBytesInTheVectorsOfEveryInstructionSet) {
  EXPECT_EQ(functions_of_equal_bytes(apply_exponential), 9);
}

TEST(SpecialFunctions, HaveTheSameBytesInTheVectorsOfEveryInstructionSet) {
  EXPECT_EQ(functions_of_equal_bytes(apply_special), 8);
}

}  // namespace
}  // namespace neuron_sim
