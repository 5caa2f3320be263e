#pragma once
// What tests of products compare with.

#include <cmath>
#include <vector>

#include "tests/device/isa/oracles.h"

namespace neuron_sim {

/// One element of a product by its definition: fused multiply-adds in fp32 over a and b in order,
/// from +0, then one fp32 addition to `before`, if any, and one rounding to `dtype`.
inline double product_element(const std::vector<double>& a, const std::vector<double>& b,
                              const double* before, Dtype dtype = kFp32) {
  float sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    sum = std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), sum);
  }
  if (before != nullptr) sum = static_cast<float>(*before) + sum;
  return round_to(dtype, sum);
}

}  // namespace neuron_sim
