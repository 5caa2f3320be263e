#pragma once
// The primitives that the references use, on dense fp32 arrays: oneDNN's, or plain loops where it
// publishes no wheel.

#include <cstdint>
#include <string>

#include "ops/reference/reference.h"

namespace neuron_sim::reference {

/// out = a + b, elementwise.
void add(const float* a, const float* b, float* out, int64_t elements);
/// out[rows, columns] = a[rows, depth] @ b[depth, columns], no size 0.
void product(const float* a, const float* b, float* out, const MatmulSize& size);
/// out[rows, features] = function(x + bias[features]); `function` as in reference.h.
void add_bias(const float* x, const float* bias, float* out, int64_t rows, int64_t features,
              const std::string& function);
/// out = max_pool(function(convolution(...))).
void convolve(const float* input, const float* weight, const float* bias, float* out,
              const ConvolutionSize& size, const std::string& function);

}  // namespace neuron_sim::reference
