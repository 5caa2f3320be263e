#pragma once
// What tests of products compare with.

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/device/isa/oracles.h"

namespace neuron_sim {

inline constexpr float kSmallestNormal = std::numeric_limits<float>::min();

inline float normal(float value) {
  return std::abs(value) < kSmallestNormal ? std::copysign(0.0F, value) : value;
}

/// fma() whose results below the normal numbers, once rounded to 24 bits, are zeros. There fma()
/// itself rounds to fewer bits; far above them it does not.
inline float normal_fma(float a, float b, float c) {
  const float result = std::fma(a, b, c);
  if (!(std::abs(result) <= kSmallestNormal)) return result;
  if (std::abs(a) > std::abs(b)) std::swap(a, b);
  const float scaled = std::fma(a * 0x1p64F, b, c * 0x1p64F);
  return std::abs(scaled) < kSmallestNormal * 0x1p64F ? std::copysign(0.0F, scaled) : result;
}

/// One element of a product by its definition in product_kernel.h, added to `before`, if any;
/// `bf16`: its operands are of bf16 or fp8. An operand is a function of the place along the depth.
template <typename Left, typename Right>
float product_sum(int64_t depth, Left&& a, Right&& b, const float* before, bool bf16) {
  float sum = 0;
  for (int64_t k = 0; k < depth && !bf16; ++k) sum = std::fma(a(k), b(k), sum);
  for (int64_t first = 0; first < depth && bf16; first += 32) {
    float chains[2] = {0, 0};
    for (int64_t k = first; k < first + 32; ++k) {
      const bool is_there = k < depth;
      chains[k % 2] =
          normal_fma(is_there ? normal(a(k)) : 0, is_there ? normal(b(k)) : 0, chains[k % 2]);
    }
    sum = normal(sum + normal(chains[0] + chains[1]));
  }
  return before != nullptr ? *before + sum : sum;
}

/// That of values, rounded to `dtype`.
inline double product_element(const std::vector<double>& a, const std::vector<double>& b,
                              const double* before, bool bf16, Dtype dtype = kFp32) {
  const auto of = [](const std::vector<double>& values) {
    return [&values](int64_t k) { return static_cast<float>(values[static_cast<size_t>(k)]); };
  };
  const float old = before != nullptr ? static_cast<float>(*before) : 0;
  return round_to(dtype, product_sum(static_cast<int64_t>(a.size()), of(a), of(b),
                                     before != nullptr ? &old : nullptr, bf16));
}

}  // namespace neuron_sim
